#include "tools/server/dialects/deepgram_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

#include "runtime/text/printable.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"

namespace runnel::server {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

constexpr int kMinUtteranceEndMs = 1000;
constexpr int kMaxMs = 86400000;
constexpr char kEncodings[] =
    "linear16, linear32, mulaw, alaw, opus, or none with WAV or Ogg Opus audio";

[[noreturn]] void Fail(const std::string& name, const std::string& value,
                       const std::string& expected) {
  throw ClientMistake(ErrorCode::kBadOption,
                      name + " is " + Quoted(value) + ", expected " + expected);
}

// The last value of a parameter; empty when it is not given.
std::optional<std::string> Find(const Query& query, std::string_view name) {
  const auto found = std::find_if(query.rbegin(), query.rend(),
                                  [name](const auto& field) { return field.first == name; });
  if (found == query.rend()) return std::nullopt;
  return found->second;
}

bool ReadBool(const Query& query, const std::string& name) {
  const std::string value = Find(query, name).value_or("false");
  if (value != "true" && value != "false") Fail(name, value, "true or false");
  return value == "true";
}

int ToInteger(const std::string& name, const std::string& value, int min, int max) {
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [parsed_end, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || parsed_end != end || number < min || number > max) {
    Fail(name, value, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return number;
}

struct Encoding {
  std::string_view name;
  SampleEncoding encoding;
};
constexpr std::array<Encoding, 5> kRawEncodings = {{{"linear16", SampleEncoding::kPcm16},
                                                    {"linear32", SampleEncoding::kFloat32},
                                                    {"mulaw", SampleEncoding::kMulaw},
                                                    {"alaw", SampleEncoding::kAlaw},
                                                    {"opus", SampleEncoding::kOpus}}};

std::unique_ptr<MediaDecoder> RawDecoder(const Query& query, SampleEncoding encoding,
                                         int channels) {
  const std::string rate = Find(query, "sample_rate").value_or("");
  const int rate_hz =
      ToInteger("sample_rate", rate, StreamOptions::kMinRate, StreamOptions::kMaxRate);
  if (encoding == SampleEncoding::kOpus) {
    if (!IsOpusRate(rate_hz)) Fail("sample_rate", rate, std::string(kOpusRatesText) + " with opus");
    channels = 1;  // a packet states its channels
  }
  auto decoder = std::make_unique<RawMediaDecoder>(encoding, rate_hz, channels);
  if (encoding != SampleEncoding::kPcm16) return decoder;
  return std::make_unique<SniffingDecoder>(std::move(decoder));  // a WAV file may come instead
}

std::unique_ptr<MediaDecoder> MakeDecoder(const Query& query) {
  const int channels =
      ToInteger("channels", Find(query, "channels").value_or("1"), 1, kMaxChannels);
  if (ReadBool(query, "multichannel") && channels > 1) {
    Fail("multichannel", "true", "false: the channels are mixed");
  }
  const std::string name = Find(query, "encoding").value_or("");
  for (const auto& [known, encoding] : kRawEncodings) {
    if (name == known) return RawDecoder(query, encoding, channels);
  }
  if (!name.empty() && name != "ogg-opus") Fail("encoding", name, kEncodings);
  return std::make_unique<SniffingDecoder>(nullptr);
}

// Silence that ends an utterance. Without `endpointing` it is that of the runtime: Deepgram's 10 ms
// would cut words.
void ReadEndpoints(const Query& query, DeepgramOptions* options) {
  EndpointOptions& endpoints = options->start.options.endpoints;
  endpoints.enabled = true;
  const std::string value = Find(query, "endpointing").value_or("true");
  options->finds_endpoints = value != "false";
  if (value == "true" || value == "false") return;
  const double silence_s = ToInteger("endpointing", value, 0, kMaxMs) / 1000.0;
  endpoints.rules[EndpointOptions::kSilence].min_silence_s =
      std::max(silence_s, EndpointOptions::kMinSilenceS);
}

void ReadUtteranceEnd(const Query& query, DeepgramOptions* options) {
  const std::optional<std::string> value = Find(query, "utterance_end_ms");
  if (!value.has_value()) return;
  if (!options->interim_results) Fail("utterance_end_ms", *value, "interim_results=true with it");
  options->utterance_end_ms = ToInteger("utterance_end_ms", *value, kMinUtteranceEndMs, kMaxMs);
}

// "word:intensifier". A value without a number after a colon is a word.
WeightedPhrase Keyword(const std::string& value) {
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon + 1 == value.size()) return {value, 1};
  char* end = nullptr;
  const double weight = std::strtod(value.c_str() + colon + 1, &end);
  if (*end != '\0') return {value, 1};
  return {value.substr(0, colon), weight};
}

// A keyword that is to be suppressed has no hotword: a negative bonus would make the search avoid
// the phrase wherever it is spoken.
std::vector<WeightedPhrase> ReadPhrases(const Query& query) {
  std::vector<WeightedPhrase> phrases;
  for (const auto& [name, value] : query) {
    if (name == "keyterm") phrases.push_back({value, 1});
    if (name != "keywords") continue;
    WeightedPhrase keyword = Keyword(value);
    if (keyword.weight > 0) phrases.push_back(std::move(keyword));  // a NaN is not
  }
  return phrases;
}

}  // namespace

DeepgramOptions ReadDeepgramQuery(const Query& query) {
  DeepgramOptions options;
  options.decoder = MakeDecoder(query);
  options.interim_results = ReadBool(query, "interim_results");
  options.vad_events = ReadBool(query, "vad_events");
  options.punctuates = ReadBool(query, "punctuate") || ReadBool(query, "smart_format");
  ReadEndpoints(query, &options);
  ReadUtteranceEnd(query, &options);
  options.phrases = ReadPhrases(query);
  return options;
}

}  // namespace runnel::server
