#include "tools/decode/endpoint_flags.h"

#include <gflags/gflags.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include "tools/cli/command_line.h"

DEFINE_bool(endpointing, false,
            "Divide a recording into utterances, by silence and length, and write a result for "
            "each (docs/utterances.md).");
DEFINE_double(endpoint_silence, 1.2, "Seconds of silence after speech that end an utterance.");
DEFINE_double(endpoint_initial_silence, 2.4,
              "Seconds of silence without speech after which an utterance begins anew.");
DEFINE_double(endpoint_max_utterance, 20,
              "Seconds, silence included, after which an utterance ends in any case.");
DEFINE_double(endpoint_blank, 0.8,
              "An encoder frame is silent when the model gives the blank at least this "
              "probability.");
DEFINE_bool(reset_encoder, false,
            "Begin an utterance without left context, as at the start of the recording.");
DEFINE_bool(skip_silence, false,
            "After an utterance that ended in silence, compute nothing until the audio is louder "
            "than its background. Faster; speech that is hardly louder than noise is lost.");

namespace runnel {
namespace {

// A rule without a duration would end an utterance at every frame.
constexpr double kMinSeconds = 0.1;
constexpr double kMinProbability = 1e-6;

void Require(const char* flag, double value, double min, double max) {
  if (value >= min && value <= max) return;  // not of a NaN
  std::ostringstream message;
  message << "--" << flag << " is " << value << ", expected " << min << " to " << max;
  throw std::invalid_argument(message.str());
}

}  // namespace

const char* const kEndpointFlagsSource = __FILE__;

EndpointOptions EndpointOptionsFromFlags() {
  for (const char* flag : {"endpoint_silence", "endpoint_initial_silence", "endpoint_max_utterance",
                           "endpoint_blank", "reset_encoder", "skip_silence"}) {
    if (IsFlagGiven(flag) && !FLAGS_endpointing) {
      throw std::invalid_argument("--" + std::string(flag) + " needs --endpointing");
    }
  }
  Require("endpoint_silence", FLAGS_endpoint_silence, kMinSeconds, EndpointOptions::kMaxSeconds);
  Require("endpoint_initial_silence", FLAGS_endpoint_initial_silence, kMinSeconds,
          EndpointOptions::kMaxSeconds);
  Require("endpoint_max_utterance", FLAGS_endpoint_max_utterance, kMinSeconds,
          EndpointOptions::kMaxSeconds);
  Require("endpoint_blank", FLAGS_endpoint_blank, kMinProbability, 1);
  EndpointOptions options;
  options.enabled = FLAGS_endpointing;
  options.rules[EndpointOptions::kInitialSilence].min_silence_s = FLAGS_endpoint_initial_silence;
  options.rules[EndpointOptions::kSilence].min_silence_s = FLAGS_endpoint_silence;
  options.rules[EndpointOptions::kLength].min_utterance_s = FLAGS_endpoint_max_utterance;
  options.silence_blank_probability = FLAGS_endpoint_blank;
  options.reset_encoder = FLAGS_reset_encoder;
  options.skip_silence = FLAGS_skip_silence;
  return options;
}

}  // namespace runnel
