#include "runtime/model/model_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "encoder/json/json_section.h"
#include "encoder/json/json_text.h"
#include "runtime/options/option_error.h"
#include "runtime/text/require_range.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr char kModelFormat[] = "runnel-model";
// Version 2 has a CTC head and no field for another one.
constexpr int64_t kOldestVersion = 2;
// Version 3 has no special_tokens.
constexpr int64_t kSpecialTokensVersion = 4;
// Version 4 has no vocabularies, and one kind of special tokens.
constexpr int64_t kFormatVersion = 5;
// Streams of encoder frames are counted in 64 bits; a chunk is one piece of memory.
constexpr int64_t kMaxChunkSize = 1 << 24;
// The windows of live audio, by their word errors (docs/accuracy.md).
constexpr double kWindowChunkMs = 640;
constexpr double kWindowLeftMs = 5120;
constexpr double kWindowRightMs = 640;

VocabularyConfig ParseCtc(JsonSection section) {
  VocabularyConfig config;
  config.vocab_size = static_cast<int>(section.Integer("vocab_size", 2, 1 << 24));
  config.blank_id = static_cast<int>(section.Integer("blank_id", 0, config.vocab_size - 1));
  section.CheckAllTaken();
  return config;
}

// Reads `attention_decoder`. The vocabulary and the encoder are read.
void ParseAttentionDecoder(JsonSection* top, ModelConfig* config) {
  if (top->IsNull("attention_decoder")) return;
  JsonSection section = top->Section("attention_decoder");
  config->attention_decoder = ParseAttentionDecoderConfig(section, config->encoder.model_dim);
  if (config->attention_decoder->vocab_size == config->vocabulary.vocab_size) return;
  section.Fail("vocab_size",
               std::to_string(config->vocabulary.vocab_size) + ", that of the other heads");
}

// Reads `ctc` and `transducer`.
void ParseHeads(int64_t version, JsonSection* top, ModelConfig* config) {
  config->has_ctc = version == kOldestVersion || !top->IsNull("ctc");
  if (config->has_ctc) config->vocabulary = ParseCtc(top->Section("ctc"));
  if (version == kOldestVersion || top->IsNull("transducer")) {
    if (!config->has_ctc) top->Fail("transducer", "an object, because ctc is null");
    return;
  }
  config->transducer = ParseTransducerConfig(top->Section("transducer"));
  const VocabularyConfig of_transducer = {config->transducer->vocab_size,
                                          config->transducer->blank_id};
  const bool is_equal = of_transducer.vocab_size == config->vocabulary.vocab_size &&
                        of_transducer.blank_id == config->vocabulary.blank_id;
  if (config->has_ctc && !is_equal) {
    top->Fail("transducer", "the vocab_size and blank_id of ctc");
  }
  config->vocabulary = of_transducer;
}

std::string ParseLanguage(JsonSection* section) {
  std::string language = section->String("language");
  if (language.empty() || std::any_of(language.begin(), language.end(), IsControl)) {
    section->Fail("language", "the name of a language, such as \"en-US\"");
  }
  return language;
}

SpecialToken ParseSpecialToken(int64_t version, int vocab_size, JsonSection* section) {
  SpecialToken token;
  token.id = static_cast<int32_t>(section->Integer("id", 0, vocab_size - 1));
  if (version == kSpecialTokensVersion) {
    section->Constant("kind", "hidden");
  } else {
    token.kind = section->Choice<TokenKind>("kind", {{"hidden", TokenKind::kHidden},
                                                     {"language", TokenKind::kLanguage},
                                                     {"end", TokenKind::kEnd},
                                                     {"byte", TokenKind::kByte}});
  }
  if (token.kind == TokenKind::kLanguage) token.language = ParseLanguage(section);
  section->CheckAllTaken();
  return token;
}

// Reads `special_tokens` and `vocabularies`. The vocabulary is read.
TokenKinds ParseTokenKinds(int64_t version, const VocabularyConfig& vocabulary, JsonSection* top) {
  TokenKinds kinds;
  std::set<int32_t> ids;
  for (JsonSection& section : top->Sections("special_tokens")) {
    kinds.special.push_back(ParseSpecialToken(version, vocabulary.vocab_size, &section));
    const SpecialToken& token = kinds.special.back();
    if (token.id == vocabulary.blank_id && token.kind != TokenKind::kHidden) {
      section.Fail("id", "another id than that of the blank, which stands for nothing");
    }
    if (!ids.insert(kinds.special.back().id).second) section.Fail("id", "every id once");
  }
  if (version == kSpecialTokensVersion) return kinds;
  int rest = vocabulary.vocab_size;
  for (JsonSection& section : top->Sections("vocabularies")) {
    const std::string language = ParseLanguage(&section);
    const int size = static_cast<int>(section.Integer("size", 1, rest));
    section.CheckAllTaken();
    kinds.vocabularies.push_back({language, size});
    rest -= size;
  }
  return kinds;
}

StreamingConfig ParseStreaming(JsonSection section) {
  StreamingConfig config;
  config.min_chunk_size = section.Integer("min_chunk_size", 1, kMaxChunkSize);
  config.max_chunk_size =
      section.OptionalInteger("max_chunk_size", config.min_chunk_size, kMaxChunkSize);
  config.max_left_context = section.OptionalInteger("max_left_context", 0, kMaxChunkSize);
  config.chunk_size = section.Integer("chunk_size", -1, kMaxChunkSize);
  config.left_context = section.Integer("left_context", -1, kMaxChunkSize);
  if (!section.IsNull("only")) {
    for (JsonSection& setting : section.Sections("only")) {
      config.only.push_back({setting.Integer("chunk_size", -1, kMaxChunkSize),
                             setting.Integer("left_context", -1, kMaxChunkSize)});
      setting.CheckAllTaken();
    }
  }
  section.CheckAllTaken();
  return config;
}

}  // namespace

void CheckChunkSize(const StreamingConfig& limits, int64_t chunk_size) {
  const bool whole = chunk_size == -1;
  const bool fits = whole ? !limits.max_chunk_size.has_value()
                          : chunk_size >= limits.min_chunk_size &&
                                chunk_size <= limits.max_chunk_size.value_or(kMaxChunkSize);
  if (fits) return;
  throw OptionError(
      OptionName("chunk_size") + " is " + NumberText(chunk_size) + ", expected " +
      RangeText(limits.min_chunk_size, limits.max_chunk_size.value_or(kMaxChunkSize),
                "encoder frames") +
      (limits.max_chunk_size ? ", the limits of this model" : " or -1 (the whole utterance)"));
}

void CheckLeftContext(const StreamingConfig& limits, int64_t left_context) {
  const bool unlimited = left_context == -1;
  const bool fits = unlimited ? !limits.max_left_context.has_value()
                              : left_context >= 0 &&
                                    left_context <= limits.max_left_context.value_or(kMaxChunkSize);
  if (fits) return;
  throw OptionError(
      OptionName("left_context") + " is " + NumberText(left_context) + ", expected " +
      RangeText(int64_t{0}, limits.max_left_context.value_or(kMaxChunkSize), "encoder frames") +
      (limits.max_left_context ? ", the limit of this model" : " or -1 (unlimited)"));
}

std::string StreamingSetting::Name() const {
  return "C=" + (chunk_size == -1 ? "full" : std::to_string(chunk_size)) +
         " M=" + (left_context == -1 ? "all" : std::to_string(left_context)) +
         (right_context == -1 ? "" : " R=" + std::to_string(right_context)) +
         (cached_windows ? " cached" : "");
}

StreamingSetting WindowFor(double encoder_frame_ms) {
  const auto frames = [&](double ms) {
    return std::max<int64_t>(1, std::llround(ms / encoder_frame_ms));
  };
  return {frames(kWindowChunkMs), frames(kWindowLeftMs), frames(kWindowRightMs)};
}

namespace {

// A window is a whole utterance, so the limits of the model's chunks do not apply.
void CheckWindow(const ModelConfig& config, const StreamingSetting& setting) {
  const StreamingConfig& streaming = config.streaming;
  const std::string given =
      OptionName("right_context") + " is " + std::to_string(setting.right_context);
  if (!streaming.window && streaming.chunk_size == -1) {
    throw OptionError(given +
                      ", expected none (-1): this model normalises its features by all "
                      "frames of the stream so far (normalization running), which a "
                      "window does not have");
  }
  if (!streaming.window) {
    throw OptionError(given + ", expected none (-1): this model streams in chunks, such as " +
                      StreamingSetting{streaming.chunk_size, streaming.left_context}.Name() +
                      ", and was not trained to read frames after them");
  }
  if (setting.chunk_size == -1) {
    throw OptionError(given + ", expected none (-1) with " + OptionName("chunk_size", "-1") +
                      ", the whole utterance");
  }
  if (setting.left_context == -1) {
    throw OptionError(OptionName("left_context") + " is -1, expected 0 or more with " +
                      OptionName("right_context") + ": a window has a fixed size");
  }
  const char* reason = setting.cached_windows ? config.encoder.NeedsWholeWindows() : nullptr;
  if (reason != nullptr) {
    throw OptionError(OptionName("cached_windows") + " is true, expected false: " + reason);
  }
}

// Throws OptionError for a size that would cut a group of frames.
void CheckMultiple(const char* name, int64_t value, int64_t multiple) {
  if (value == -1 || value % multiple == 0) return;
  throw OptionError(OptionName(name) + " is " + std::to_string(value) +
                    ", expected a multiple of " + std::to_string(multiple) +
                    ": the attention of this model joins groups of frames");
}

}  // namespace

void CheckStreaming(const ModelConfig& config, const StreamingSetting& setting) {
  if (setting.right_context != -1) return CheckWindow(config, setting);
  if (setting.cached_windows) {
    throw OptionError(
        OptionName("cached_windows") + " is true, expected false" +
        (config.streaming.window
             ? " without windows, which a " + OptionName("right_context") + " of 0 or more makes"
             : ": this model has no windows"));
  }
  CheckChunkSize(config.streaming, setting.chunk_size);
  CheckLeftContext(config.streaming, setting.left_context);
  const char* reason = config.encoder.NeedsWholeUtterance();
  if (setting.chunk_size != -1 && reason != nullptr) {
    throw OptionError(OptionName("chunk_size") + " is " + std::to_string(setting.chunk_size) +
                      ", expected -1, or a " + OptionName("right_context") +
                      " of 0 or more: this model needs the whole utterance, " + reason);
  }
  if (setting.chunk_size != -1) {
    CheckMultiple("chunk_size", setting.chunk_size, config.encoder.ChunkMultiple());
    CheckMultiple("left_context", setting.left_context, config.encoder.ChunkMultiple());
  }
  const std::vector<StreamingSetting>& only = config.streaming.only;
  std::string names;
  for (const StreamingSetting& one : only) {
    if (one.chunk_size == setting.chunk_size && one.left_context == setting.left_context) return;
    names.append(names.empty() ? "" : ", ").append(one.Name());
  }
  if (only.empty()) return;
  throw OptionError(OptionName("chunk_size") + " and " + OptionName("left_context") + " are " +
                    setting.Name() + ", expected one of those the model was trained for: " + names);
}

ModelConfig ParseModelConfig(const std::string& json_text, const std::string& source) {
  const nlohmann::json json = ParseJsonText(json_text, source, "runnel.json");
  JsonSection top(json, "", source);
  top.Constant("format", kModelFormat);
  const int64_t version = top.Integer("format_version", 1, std::numeric_limits<int32_t>::max());
  if (version < kOldestVersion || version > kFormatVersion) {
    top.Fail("format_version", std::to_string(kOldestVersion) + " to " +
                                   std::to_string(kFormatVersion) +
                                   ", which this version of Runnel reads");
  }
  ModelConfig config;
  config.name = top.String("name");
  config.features = ParseFeatureConfig(top.Section("features"), source);
  JsonSection encoder = top.Section("encoder");
  config.encoder = ParseEncoderConfig(&encoder);
  ParseHeads(version, &top, &config);
  config.ignores_attention_decoder = version == kOldestVersion;
  if (version > kOldestVersion) {
    ParseAttentionDecoder(&top, &config);
    if (!top.IsNull("prompt")) {
      config.prompt = ParseLanguagePromptConfig(top.Section("prompt"));
    }
  }
  if (version >= kSpecialTokensVersion) {
    config.token_kinds = ParseTokenKinds(version, config.vocabulary, &top);
  }
  config.streaming = ParseStreaming(top.Section("streaming"));
  top.CheckAllTaken();
  if (config.features.dim() != config.encoder.input_dim) {
    encoder.Fail("input_dim",
                 std::to_string(config.features.dim()) +
                     ", the size of a feature frame that the features section describes");
  }
  try {
    CheckStreaming(config, {config.streaming.chunk_size, config.streaming.left_context});
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(source + ": streaming: " + error.what());
  }
  return config;
}

}  // namespace runnel
