#include "tools/server/protocol/endpointing_option.h"

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

// Reads an optional true or false into `value`.
void ReadFlag(JsonSection* fields, const std::string& field, bool* value) {
  if (fields->Has(field)) *value = fields->Bool(field);
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
  ReadEndpointRules(&section, "", options);
  section.CheckAllTaken();
}

void ReadEndpointRules(JsonSection* fields, const std::string& prefix, EndpointOptions* options) {
  using Options = EndpointOptions;
  ReadNumber(fields, prefix + "silence_s", Options::kMinSilenceS, Options::kMaxSeconds,
             &options->rules[EndpointOptions::kSilence].min_silence_s);
  ReadNumber(fields, prefix + "initial_silence_s", Options::kMinSilenceS, Options::kMaxSeconds,
             &options->rules[EndpointOptions::kInitialSilence].min_silence_s);
  ReadNumber(fields, prefix + "max_utterance_s", Options::kMinUtteranceS, Options::kMaxSeconds,
             &options->rules[EndpointOptions::kLength].min_utterance_s);
  ReadNumber(fields, prefix + "blank_probability", Options::kMinBlankProbability, 1,
             &options->silence_blank_probability);
  ReadFlag(fields, prefix + "reset_encoder", &options->reset_encoder);
  ReadFlag(fields, prefix + "skip_silence", &options->skip_silence);
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
