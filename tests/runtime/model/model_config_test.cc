// runnel.json is read strictly: a field that is missing, unknown, of the wrong type or out of range
// is an error of one line that names the file, the field, the value and what was expected.
#include "runtime/model/model_config.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/json_faults.h"

namespace runnel {
namespace {

using nlohmann::json;
using testing::AllFields;
using testing::Contains;
using testing::DottedPath;
using testing::ErrorMessage;
using testing::With;
using testing::Without;
using testing::WrongTypes;

json ValidConfig() {
  return json::parse(R"({
    "format": "runnel-model", "format_version": 2, "name": "digits",
    "features": {
      "type": "fbank", "sample_frequency": 8000, "sample_scale": 2.5, "frame_length_ms": 20.0,
      "frame_shift_ms": 8.0, "num_mel_bins": 40, "low_freq": 30.0, "high_freq": 3800.0,
      "window_type": "hamming", "blackman_coeff": 0.4, "preemph_coeff": 0.9,
      "remove_dc_offset": false, "dither": 0.5, "dither_seed": 17, "snip_edges": false,
      "round_to_power_of_two": true, "use_energy": true, "raw_energy": false,
      "energy_floor": 0.1, "use_log_fbank": true, "use_power": false, "htk_compat": true},
    "encoder": {
      "type": "conformer", "input_dim": 41, "model_dim": 96, "num_layers": 4, "num_heads": 4,
      "feed_forward_dim": 384, "normalization": {"type": "global_cmvn"},
      "subsampling": {"type": "conv2d4"}, "scale_input": true,
      "position": {"scheme": "chunk_rpe", "linear_pos_bias": false, "query_scaling": "after_bias",
                   "table_order": "descending"},
      "attention_bias": {"query": true, "key": true, "value": true, "out": true},
      "feed_forward": {"macaron": true, "activation": "swish", "bias": true},
      "convolution": {"type": "causal", "kernel_size": 15, "norm": "layer_norm",
                      "norm_epsilon": 1e-5, "activation": "swish", "bias": true,
                      "left_padding": "zero"},
      "norm_first": true, "after_norm": true, "layer_norm_eps": 1e-5},
    "ctc": {"vocab_size": 17, "blank_id": 3},
    "streaming": {"chunk_size": 16, "left_context": 64, "min_chunk_size": 2,
                  "max_chunk_size": null, "max_left_context": null, "only": null}})");
}

json MelSpectrogramConfig() {
  json config = ValidConfig();
  config["features"] = json::parse(R"({
      "type": "mel_spectrogram", "sample_frequency": 8000, "sample_scale": 1.0,
      "preemph_coeff": 0.9, "fft_size": 256, "frame_length": 200, "frame_shift": 80,
      "padding": "reflect", "last_frame": true, "window_type": "hamming", "periodic_window": true,
      "num_mel_bins": 41, "low_freq": 20.0, "high_freq": 3900.0, "mel_scale": "htk",
      "slaney_norm": false, "use_power": false, "log_guard": "floor", "log_guard_value": 1e-10})");
  return config;
}

std::string ErrorOfText(const std::string& text) {
  return ErrorMessage<std::runtime_error>([&] { ParseModelConfig(text, "m.pt"); });
}

std::string ParseError(const json& config) { return ErrorOfText(config.dump()); }

// The message for `value` in `field`. It must name file, value and field, and say "expected".
std::string RefusalOf(const std::string& field, const json& value) {
  const json::json_pointer pointer(field);
  const std::string message = ParseError(With(ValidConfig(), pointer, value));
  EXPECT_EQ(message.substr(0, 6), "m.pt: ");
  EXPECT_TRUE(Contains(message, pointer.back() + " is "));
  EXPECT_TRUE(Contains(message, ", expected "));
  return message;
}

TEST(ModelConfigTest, ReadsEveryField) {
  const ModelConfig config = ParseModelConfig(ValidConfig().dump(), "m.pt");
  EXPECT_EQ(config.name, "digits");
  const auto& fbank = std::get<FbankOptions>(config.features.options);
  EXPECT_EQ(config.features.sample_scale, 2.5F);
  EXPECT_EQ(fbank.sample_frequency, 8000.0F);
  EXPECT_EQ(fbank.frame_length_ms, 20.0F);
  EXPECT_EQ(fbank.frame_shift_ms, 8.0F);
  EXPECT_EQ(fbank.num_mel_bins, 40);
  EXPECT_EQ(fbank.low_freq, 30.0F);
  EXPECT_EQ(fbank.high_freq, 3800.0F);
  EXPECT_EQ(fbank.window_type, "hamming");
  EXPECT_EQ(fbank.blackman_coeff, 0.4F);
  EXPECT_EQ(fbank.preemph_coeff, 0.9F);
  EXPECT_FALSE(fbank.remove_dc_offset);
  EXPECT_EQ(fbank.dither, 0.5F);
  EXPECT_EQ(fbank.dither_seed, 17U);
  EXPECT_FALSE(fbank.snip_edges);
  EXPECT_TRUE(fbank.round_to_power_of_two);
  EXPECT_TRUE(fbank.use_energy);
  EXPECT_FALSE(fbank.raw_energy);
  EXPECT_EQ(fbank.energy_floor, 0.1F);
  EXPECT_TRUE(fbank.use_log_fbank);
  EXPECT_FALSE(fbank.use_power);
  EXPECT_TRUE(fbank.htk_compat);
  EXPECT_EQ(config.encoder.input_dim, 41);
  EXPECT_EQ(config.encoder.convolution->kernel_size, 15);
  EXPECT_EQ(config.vocabulary.vocab_size, 17);
  EXPECT_EQ(config.vocabulary.blank_id, 3);
  EXPECT_EQ(config.streaming.chunk_size, 16);
  EXPECT_EQ(config.streaming.left_context, 64);
  EXPECT_EQ(config.streaming.min_chunk_size, 2);
  EXPECT_EQ(config.streaming.max_chunk_size, std::nullopt);
  EXPECT_EQ(config.streaming.max_left_context, std::nullopt);
}

TEST(ModelConfigTest, ReadsLimits) {
  json text = ValidConfig();
  text["streaming"]["max_chunk_size"] = 32;
  text["streaming"]["max_left_context"] = 0;
  text["streaming"]["left_context"] = 0;
  const ModelConfig config = ParseModelConfig(text.dump(), "m.pt");
  EXPECT_EQ(config.streaming.max_chunk_size, 32);
  EXPECT_EQ(config.streaming.max_left_context, 0);
}

// Other JSON readers take the last of two values; a model must mean the same to all readers.
TEST(ModelConfigTest, NoFieldMayBeGivenTwice) {
  const std::string text = ValidConfig().dump();
  const auto with = [&](const std::string& field, const std::string& more) {
    std::string twice = text;
    const size_t at = twice.find("\"" + field + "\"");
    EXPECT_NE(at, std::string::npos);
    return twice.insert(at, more);
  };
  for (const auto& [field, path] :
       std::vector<std::pair<std::string, std::string>>{{"format_version", "format_version"},
                                                        {"scheme", "encoder.position.scheme"},
                                                        {"vocab_size", "ctc.vocab_size"},
                                                        {"features", "features"}}) {
    EXPECT_EQ(ErrorOfText(with(field, "\"" + field + "\": {}, ")),
              "m.pt: " + path + " is given twice, expected once");
  }
  // Equal values are refused too, and so is another spelling of the key.
  EXPECT_EQ(ErrorOfText(with("blank_id", "\"blank_\\u0069d\": 3, ")),
            "m.pt: ctc.blank_id is given twice, expected once");
  // The same key in different objects is fine, also in objects of a list.
  EXPECT_EQ(ErrorOfText(R"([{"a": 1}, {"a": {"a": 2}}])"),
            "m.pt: the configuration is array, expected an object");
  EXPECT_EQ(ErrorOfText(R"({"x": [{"a": 1, "a": 2}]})"), "m.pt: x.a is given twice, expected once");
}

TEST(ModelConfigTest, HugeValuesMakeNoHugeMessage) {
  json config = ValidConfig();
  config["format_version"] = std::string(1 << 20, 'x');
  EXPECT_LT(ParseError(config).size(), 400U);
  config["format_version"] = json::array();
  for (int i = 0; i < 100; ++i) config["format_version"].push_back("\u00e9\u00e9\u00e9");
  EXPECT_LT(ParseError(config).size(), 400U);
  EXPECT_LT(ErrorOfText("{\"" + std::string(1 << 20, 'k') + "\": 1}").size(), 400U);
  EXPECT_LT(ErrorOfText("{\"" + std::string(1 << 20, 'k')).size(), 400U);
  const std::string deep(1 << 20, '[');
  EXPECT_EQ(ErrorOfText("{\"format\": " + deep),
            "m.pt: runnel.json is nested deeper than 32 levels");
}

TEST(ModelConfigTest, EveryFieldIsRequired) {
  for (const auto& field : AllFields(ValidConfig())) {
    const std::string message = ParseError(Without(ValidConfig(), field));
    EXPECT_TRUE(Contains(message, "m.pt: " + DottedPath(field) + " is missing"));
  }
}

TEST(ModelConfigTest, UnknownFieldsAreRefused) {
  std::vector<std::string> sections = {""};
  for (const auto& field : AllFields(ValidConfig())) {
    if (ValidConfig().at(field).is_object()) sections.push_back(field.to_string());
  }
  EXPECT_EQ(sections.size(), 11U);
  for (const std::string& section : sections) {
    const json::json_pointer field(section + "/extra");
    EXPECT_TRUE(Contains(ParseError(With(ValidConfig(), field, nullptr)),
                         "m.pt: " + DottedPath(field) + " is a field this version does not know"));
  }
}

TEST(ModelConfigTest, WrongTypesAreRefused) {
  const json valid = ValidConfig();
  for (const auto& field : AllFields(valid)) {
    for (const json& value : WrongTypes(valid.at(field))) {
      if (value.is_null() && DottedPath(field) == "encoder.convolution") continue;  // may be null
      if (value.is_array() && DottedPath(field) == "streaming.only") continue;  // its items may not
      const std::string message = ParseError(With(valid, field, value));
      EXPECT_TRUE(Contains(message, "m.pt: " + DottedPath(field) + " is "));
      EXPECT_TRUE(Contains(message, ", expected "));
    }
  }
}

TEST(ModelConfigTest, OtherFormats) {
  EXPECT_EQ(RefusalOf("/format", "onnx"), "m.pt: format is \"onnx\", expected \"runnel-model\"");
  EXPECT_EQ(RefusalOf("/format_version", 1),
            "m.pt: format_version is 1, expected 2 to 5, which this version of Runnel reads");
  for (const json& version : {json(0), json(-1), json(UINT64_MAX)}) {
    RefusalOf("/format_version", version);
  }
}

json ConfigOfVersion4() {
  json config = ValidConfig();
  config["format_version"] = 4;
  for (const char* name : {"transducer", "attention_decoder", "prompt"}) config[name] = nullptr;
  config["special_tokens"] = json::parse(R"([{"id": 16, "kind": "hidden"},
                                             {"id": 2, "kind": "hidden"}])");
  return config;
}

TEST(ModelConfigTest, SpecialTokens) {
  const ModelConfig config = ParseModelConfig(ConfigOfVersion4().dump(), "m.pt");
  ASSERT_TRUE(config.token_kinds.has_value());
  ASSERT_EQ(config.token_kinds->special.size(), 2U);
  EXPECT_EQ(config.token_kinds->special[0].id, 16);
  EXPECT_EQ(config.token_kinds->special[1].kind, TokenKind::kHidden);
  EXPECT_FALSE(ParseModelConfig(ValidConfig().dump(), "m.pt").token_kinds.has_value());
  const auto refusal = [](const char* field, const json& value) {
    return ParseError(With(ConfigOfVersion4(), json::json_pointer(field), value));
  };
  EXPECT_TRUE(Contains(refusal("/special_tokens", nullptr), "m.pt: special_tokens is null"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/1/id", 17), "m.pt: special_tokens.1.id is 17"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/0/kind", "language"),
                       "m.pt: special_tokens.0.kind is \"language\", expected \"hidden\""));
  json version_3 = ConfigOfVersion4();
  version_3["format_version"] = 3;
  EXPECT_TRUE(Contains(ParseError(version_3), "special_tokens"));
  version_3.erase("special_tokens");
  EXPECT_FALSE(ParseModelConfig(version_3.dump(), "m.pt").token_kinds.has_value());
  json missing = ConfigOfVersion4();
  missing.erase("special_tokens");
  EXPECT_TRUE(Contains(ParseError(missing), "special_tokens is missing"));
}

json ConfigOfVersion5() {
  json config = ConfigOfVersion4();
  config["format_version"] = 5;
  config["special_tokens"] = json::parse(R"([{"id": 16, "kind": "hidden"},
      {"id": 2, "kind": "language", "language": "en-US"}, {"id": 5, "kind": "end"},
      {"id": 4, "kind": "byte"}])");
  config["vocabularies"] = json::parse(R"([{"language": "en", "size": 7},
                                           {"language": "es", "size": 9}])");
  return config;
}

TEST(ModelConfigTest, KindsOfTokens) {
  const ModelConfig config = ParseModelConfig(ConfigOfVersion5().dump(), "m.pt");
  const TokenKinds& kinds = config.token_kinds.value();
  ASSERT_EQ(kinds.special.size(), 4U);
  EXPECT_EQ(kinds.special[1].kind, TokenKind::kLanguage);
  EXPECT_EQ(kinds.special[1].language, "en-US");
  EXPECT_EQ(kinds.special[2].kind, TokenKind::kEnd);
  EXPECT_EQ(kinds.special[3].kind, TokenKind::kByte);
  ASSERT_EQ(kinds.vocabularies.size(), 2U);
  EXPECT_EQ(kinds.vocabularies[1].language, "es");
  EXPECT_EQ(kinds.vocabularies[1].size, 9);
  const auto refusal = [](const char* field, const json& value) {
    return ParseError(With(ConfigOfVersion5(), json::json_pointer(field), value));
  };
  EXPECT_TRUE(Contains(refusal("/special_tokens/3/id", 3),
                       "special_tokens.3.id is 3, expected another id than that of the blank"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/0/kind", "tag"),
                       "m.pt: special_tokens.0.kind is \"tag\", expected one of \"byte\""));
  EXPECT_TRUE(Contains(refusal("/special_tokens/0/kind", "language"),
                       "special_tokens.0.language is missing"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/1/kind", "end"), "special_tokens.1.language"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/1/language", ""),
                       "special_tokens.1.language is \"\", expected the name of a language"));
  EXPECT_TRUE(Contains(refusal("/special_tokens/1/id", 16),
                       "special_tokens.1.id is 16, expected every id once"));
  EXPECT_TRUE(Contains(refusal("/vocabularies/1/size", 11), "m.pt: vocabularies.1.size is 11"));
  EXPECT_TRUE(Contains(refusal("/vocabularies/0/size", 0), "m.pt: vocabularies.0.size is 0"));
  EXPECT_TRUE(Contains(refusal("/vocabularies", nullptr), "m.pt: vocabularies is null"));
  json version_4 = ConfigOfVersion5();
  version_4["format_version"] = 4;
  EXPECT_TRUE(Contains(ParseError(version_4), "special_tokens.1.kind is \"language\""));
}

TEST(ModelConfigTest, AnUnknownVersionIsSaidFirst) {
  // A later version may differ in everything else.
  json other = {{"format", "runnel-model"}, {"format_version", 7}, {"layout", {1, 2, 3}}};
  EXPECT_TRUE(Contains(ParseError(other), "format_version is 7"));
}

TEST(ModelConfigTest, NotJson) {
  for (const std::string text : {"", " ", "{", "[1, 2", "{\"format\": }", "{} {}", "\xff\xfe{}",
                                 "{\"a\n\": 1", "nonsense\nof two lines", "{\"format\": 1e999}"}) {
    EXPECT_TRUE(Contains(ErrorOfText(text), "m.pt: runnel.json is not valid JSON")) << text;
  }
  for (const std::string text : {"[]", "1", "null", "\"text\"", "true"}) {
    EXPECT_TRUE(Contains(ErrorOfText(text), "m.pt: the configuration is ")) << text;
    EXPECT_TRUE(Contains(ErrorOfText(text), ", expected an object")) << text;
  }
  EXPECT_TRUE(Contains(ErrorOfText(std::string(100000, '[')), "is nested deeper than"));
}

TEST(ModelConfigTest, FeaturesOutOfRange) {
  const std::vector<std::pair<std::string, json>> cases = {
      {"type", "plp"},         {"sample_frequency", 999}, {"sample_frequency", 384001},
      {"sample_scale", 0.0},   {"sample_scale", -1.0},    {"sample_scale", 1e39},
      {"frame_length_ms", 0},  {"frame_length_ms", -25},  {"frame_length_ms", 1e30},
      {"frame_shift_ms", 0},   {"frame_shift_ms", -10},   {"frame_shift_ms", 1e30},
      {"num_mel_bins", 0},     {"num_mel_bins", 2},       {"num_mel_bins", 5000},
      {"low_freq", -1.0},      {"low_freq", 4000.0},      {"high_freq", 20.0},
      {"high_freq", 4001.0},   {"high_freq", -3990.0},    {"window_type", "hann"},
      {"blackman_coeff", 1.1}, {"preemph_coeff", -0.1},   {"preemph_coeff", 1.1},
      {"dither", -1.0},        {"dither_seed", -1},       {"energy_floor", -1.0},
      {"energy_floor", 1e39}};
  for (const auto& [field, value] : cases) {
    EXPECT_TRUE(Contains(RefusalOf("/features/" + field, value), "features")) << field << value;
  }
}

TEST(ModelConfigTest, ReadsMfccs) {
  json valid = ValidConfig();
  valid["features"]["type"] = "mfcc";
  valid["features"]["htk_compat"] = false;
  valid["features"]["num_ceps"] = 13;
  valid["features"]["cepstral_lifter"] = 20.5;
  valid["encoder"]["input_dim"] = 13;
  const ModelConfig config = ParseModelConfig(valid.dump(), "m.pt");
  EXPECT_EQ(config.features.dim(), 13);
  const auto& mfcc = std::get<MfccOptions>(config.features.options);
  EXPECT_EQ(mfcc.sample_frequency, 8000.0F);
  EXPECT_EQ(mfcc.num_mel_bins, 40);
  EXPECT_TRUE(mfcc.use_energy);
  EXPECT_EQ(mfcc.num_ceps, 13);
  EXPECT_EQ(mfcc.cepstral_lifter, 20.5F);
  for (const std::string field : {"num_ceps", "cepstral_lifter", "low_freq"}) {
    EXPECT_TRUE(Contains(ParseError(Without(valid, json::json_pointer("/features/" + field))),
                         "m.pt: features." + field + " is missing"));
  }
  const std::vector<std::pair<std::string, json>> wrong = {
      {"num_ceps", 0},          {"num_ceps", 41},     {"cepstral_lifter", -1.0},
      {"use_log_fbank", false}, {"htk_compat", true}, {"num_mel_bins", 12}};
  for (const auto& [field, value] : wrong) {
    const std::string message =
        ParseError(With(valid, json::json_pointer("/features/" + field), value));
    EXPECT_EQ(message.rfind("m.pt: features", 0), 0U) << message;
    EXPECT_TRUE(Contains(message, ", expected ")) << message;
  }
}

TEST(ModelConfigTest, ReadsMelSpectrograms) {
  const json valid = MelSpectrogramConfig();
  const ModelConfig config = ParseModelConfig(valid.dump(), "m.pt");
  EXPECT_EQ(config.features.sample_scale, 1.0F);
  EXPECT_EQ(config.features.dim(), 41);
  const auto& mel = std::get<MelSpectrogramOptions>(config.features.options);
  EXPECT_EQ(mel.sample_frequency, 8000.0F);
  EXPECT_EQ(mel.preemph_coeff, 0.9F);
  EXPECT_EQ(mel.fft_size, 256);
  EXPECT_EQ(mel.frame_length, 200);
  EXPECT_EQ(mel.frame_shift, 80);
  EXPECT_EQ(mel.edge, AudioEdge::kReflect);
  EXPECT_TRUE(mel.last_frame);
  EXPECT_EQ(mel.window_type, "hamming");
  EXPECT_TRUE(mel.periodic_window);
  EXPECT_EQ(mel.num_mel_bins, 41);
  EXPECT_EQ(mel.low_freq, 20.0F);
  EXPECT_EQ(mel.high_freq, 3900.0F);
  EXPECT_EQ(mel.mel_scale, MelScale::kHtk);
  EXPECT_FALSE(mel.slaney_norm);
  EXPECT_FALSE(mel.use_power);
  EXPECT_EQ(mel.log_guard, LogGuard::kFloor);
  EXPECT_EQ(mel.log_guard_value, 1e-10F);

  for (const auto& [name, unused] : valid["features"].items()) {
    const json::json_pointer field("/features/" + name);
    EXPECT_TRUE(Contains(ParseError(Without(valid, field)), "features." + name + " is missing"));
    for (const json& value : WrongTypes(valid.at(field))) {
      EXPECT_TRUE(Contains(ParseError(With(valid, field, value)), "features." + name + " is "));
    }
  }
  EXPECT_TRUE(Contains(ParseError(With(valid, json::json_pointer("/features/snip_edges"), true)),
                       "m.pt: features.snip_edges is a field this version does not know"));
}

TEST(ModelConfigTest, MelSpectrogramsOutOfRange) {
  const std::vector<std::pair<std::string, json>> cases = {
      {"sample_scale", 0.0},    {"preemph_coeff", 1.5},   {"fft_size", 255},
      {"fft_size", 0},          {"fft_size", 1 << 30},    {"frame_length", 257},
      {"frame_length", 1},      {"frame_shift", 0},       {"frame_shift", 1 << 30},
      {"padding", "mirror"},    {"window_type", "hann"},  {"num_mel_bins", 0},
      {"num_mel_bins", 5000},   {"low_freq", -1.0},       {"low_freq", 3900.0},
      {"high_freq", 4001.0},    {"high_freq", 0.0},       {"mel_scale", "bark"},
      {"log_guard", "clamp"},   {"log_guard_value", 0.0}, {"log_guard_value", 2.0},
      {"log_guard_value", 1e39}};
  for (const auto& [field, value] : cases) {
    const std::string message =
        ParseError(With(MelSpectrogramConfig(), json::json_pointer("/features/" + field), value));
    EXPECT_EQ(message.rfind("m.pt: features", 0), 0U) << message;
    EXPECT_TRUE(Contains(message, field + " is ")) << field << value;
    EXPECT_TRUE(Contains(message, ", expected ")) << field << value;
  }
}

TEST(ModelConfigTest, FeatureSizeMustBeTheEncodersInput) {
  EXPECT_EQ(RefusalOf("/encoder/input_dim", 40),
            "m.pt: encoder.input_dim is 40, expected 41, the size of a feature frame that the "
            "features section describes");
  const std::string message =
      ParseError(With(ValidConfig(), json::json_pointer("/features/use_energy"), false));
  EXPECT_TRUE(Contains(message, "encoder.input_dim is 41, expected 40"));
}

TEST(ModelConfigTest, EncoderOutOfRange) {
  RefusalOf("/encoder/num_layers", 0);
  EXPECT_EQ(RefusalOf("/encoder/num_heads", 7),
            "m.pt: encoder.num_heads is 7, expected a divisor of model_dim 96");
}

TEST(ModelConfigTest, CtcOutOfRange) {
  EXPECT_EQ(RefusalOf("/ctc/vocab_size", 1),
            "m.pt: ctc.vocab_size is 1, expected an integer from 2 to 16777216");
  EXPECT_EQ(RefusalOf("/ctc/blank_id", 17),
            "m.pt: ctc.blank_id is 17, expected an integer from 0 to 16");
  RefusalOf("/ctc/blank_id", -1);
  RefusalOf("/ctc/vocab_size", UINT64_MAX);
}

TEST(ModelConfigTest, StreamingOutOfRange) {
  for (const json& value : {json(0), json(-1), json(-2), json(1 << 25)}) {
    RefusalOf("/streaming/min_chunk_size", value);
  }
  for (const json& value : {json(0), json(-1), json(1), json(1 << 25)}) {
    RefusalOf("/streaming/max_chunk_size", value);
  }
  for (const json& value : {json(-1), json(1 << 25)}) {
    RefusalOf("/streaming/max_left_context", value);
  }
  for (const json& value : {json(0), json(1), json(-2), json(1 << 25), json(UINT64_MAX)}) {
    RefusalOf("/streaming/chunk_size", value);
  }
  for (const json& value : {json(-2), json(1 << 25), json(UINT64_MAX)}) {
    RefusalOf("/streaming/left_context", value);
  }
}

TEST(ModelConfigTest, RecommendedSizesMustKeepTheLimits) {
  json config = ValidConfig();
  config["streaming"]["max_chunk_size"] = 8;
  EXPECT_TRUE(Contains(ParseError(config), "streaming: chunk_size is 16, expected"));
  config["streaming"]["chunk_size"] = -1;  // a whole utterance may have any length
  EXPECT_TRUE(Contains(ParseError(config), "streaming: chunk_size is -1, expected"));
  config = ValidConfig();
  config["streaming"]["max_left_context"] = 63;
  EXPECT_TRUE(Contains(ParseError(config), "streaming: left_context is 64, expected"));
  config["streaming"]["left_context"] = -1;
  EXPECT_TRUE(Contains(ParseError(config), "streaming: left_context is -1, expected"));
}

TEST(ModelConfigTest, SettingsTheModelWasTrainedFor) {
  json config = ValidConfig();
  config["streaming"]["only"] = json::parse(
      R"([{"chunk_size": 16, "left_context": 64}, {"chunk_size": 2, "left_context": 64}])");
  const ModelConfig parsed = ParseModelConfig(config.dump(), "m.pt");
  EXPECT_NO_THROW(CheckStreaming(parsed, {2, 64}));
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] {
              CheckStreaming(parsed, {2, 32});
            }),
            "chunk_size and left_context are C=2 M=32, expected one of those the model was trained "
            "for: C=16 M=64, C=2 M=64");
  config["streaming"]["left_context"] = 32;
  EXPECT_TRUE(Contains(ParseError(config), "streaming: chunk_size and left_context are C=16 M=32"));
  config["streaming"]["only"][0]["extra"] = 1;
  EXPECT_TRUE(Contains(ParseError(config), "streaming.only.0.extra is a field"));
  config["streaming"]["only"] = {1};
  EXPECT_TRUE(Contains(ParseError(config), "streaming.only.0 is number, expected an object"));
}

TEST(ModelConfigTest, ModelsThatNeedTheWholeUtterance) {
  json config = ValidConfig();
  config["encoder"]["convolution"]["type"] = "symmetric";
  EXPECT_TRUE(Contains(ParseError(config), "chunk_size is 16, expected -1"));
  config["streaming"]["chunk_size"] = -1;
  const ModelConfig parsed = ParseModelConfig(config.dump(), "m.pt");
  EXPECT_NO_THROW(CheckStreaming(parsed, {-1, -1}));
  EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] {
                         CheckStreaming(parsed, {16, 64});
                       }),
                       "dynamic_chunk"));
}

TEST(ModelConfigTest, LimitsOfStreams) {
  StreamingConfig limits;
  limits.min_chunk_size = 2;
  EXPECT_NO_THROW(CheckChunkSize(limits, 2));
  EXPECT_NO_THROW(CheckChunkSize(limits, -1));
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CheckChunkSize(limits, 1); }),
            "chunk_size is 1, expected 2 to 16777216 encoder frames or -1 (the whole utterance)");
  EXPECT_NO_THROW(CheckLeftContext(limits, 0));
  EXPECT_NO_THROW(CheckLeftContext(limits, -1));
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CheckLeftContext(limits, -2); }),
            "left_context is -2, expected 0 to 16777216 encoder frames or -1 (unlimited)");
  limits.max_chunk_size = 8;
  limits.max_left_context = 10;
  EXPECT_NO_THROW(CheckChunkSize(limits, 8));
  EXPECT_NO_THROW(CheckLeftContext(limits, 10));
  for (const int64_t size : {0, 1, 9, -1, -2}) {
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CheckChunkSize(limits, size); }),
              "chunk_size is " + std::to_string(size) +
                  ", expected 2 to 8 encoder frames, the limits of this model");
  }
  for (const int64_t size : {11, -1, -2}) {
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CheckLeftContext(limits, size); }),
              "left_context is " + std::to_string(size) +
                  ", expected 0 to 10 encoder frames, the limit of this model");
  }
}

}  // namespace
}  // namespace runnel
