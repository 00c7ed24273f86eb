#include "tools/server/protocol/endpointing_option.h"

#include <algorithm>
#include <string>

#include "tools/cli/decimal.h"

namespace runnel::server {
namespace {

// Reads an optional number into `value`.
void ReadNumber(JsonSection* fields, const std::string& field, double min, double max,
                double* value) {
  if (!fields->Has(field)) return;
  *value = fields->Number(field);
  if (*value >= min && *value <= max) return;
  fields->Fail(field, "a number from " + Decimal(min, 1) + " to " + Decimal(max, 1));
}

}  // namespace

void ReadEndpointing(JsonSection* fields, EndpointOptions* options) {
  if (!fields->Has("endpointing")) return;
  if (!fields->IsObject("endpointing")) {
    if (!fields->IsBool("endpointing")) fields->Fail("endpointing", "true, false or an object");
    options->enabled = fields->Bool("endpointing");
    return;
  }
  JsonSection section = fields->Section("endpointing");
  options->enabled = true;
  constexpr double kMaxSeconds = EndpointOptions::kMaxSeconds;
  ReadNumber(&section, "silence_s", kMinSilenceS, kMaxSeconds,
             &options->rules[EndpointOptions::kSilence].min_silence_s);
  // The first rule holds after speech, too. It must not come before the usual one.
  double& initial_s = options->rules[EndpointOptions::kInitialSilence].min_silence_s;
  initial_s = std::max(initial_s, options->rules[EndpointOptions::kSilence].min_silence_s);
  ReadNumber(&section, "initial_silence_s", kMinSilenceS, kMaxSeconds, &initial_s);
  ReadNumber(&section, "max_utterance_s", kMinUtteranceS, kMaxSeconds,
             &options->rules[EndpointOptions::kLength].min_utterance_s);
  constexpr double kMinProbability = 0.1;
  ReadNumber(&section, "blank_probability", kMinProbability, 1,
             &options->silence_blank_probability);
  if (section.Has("reset_encoder")) options->reset_encoder = section.Bool("reset_encoder");
  if (section.Has("skip_silence")) options->skip_silence = section.Bool("skip_silence");
  section.CheckAllTaken();
}

OrderedJson EndpointingAsJson(const EndpointOptions& options) {
  if (!options.enabled) return false;
  return {
      {"silence_s", Rounded(options.rules[EndpointOptions::kSilence].min_silence_s)},
      {"initial_silence_s", Rounded(options.rules[EndpointOptions::kInitialSilence].min_silence_s)},
      {"max_utterance_s", Rounded(options.rules[EndpointOptions::kLength].min_utterance_s)},
      {"blank_probability", Rounded(options.silence_blank_probability)},
      {"reset_encoder", options.reset_encoder},
      {"skip_silence", options.skip_silence}};
}

}  // namespace runnel::server
