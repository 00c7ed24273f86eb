#include "tools/server/dialects/deepgram_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "tools/server/protocol/typed_text.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"

namespace runnel::server {
namespace {

constexpr int kMinUtteranceEndMs = 1000;
constexpr int kMaxMs = 86400000;
constexpr char kEncodings[] =
    "linear16, linear32, mulaw, alaw, opus, ogg-opus, or none with a file, such as WAV or WebM";

struct Encoding {
  std::string_view name;
  SampleEncoding encoding;
};
constexpr std::array<Encoding, 5> kRawEncodings = {{{"linear16", SampleEncoding::kPcm16},
                                                    {"linear32", SampleEncoding::kFloat32},
                                                    {"mulaw", SampleEncoding::kMulaw},
                                                    {"alaw", SampleEncoding::kAlaw},
                                                    {"opus", SampleEncoding::kOpus}}};

std::unique_ptr<MediaDecoder> RawDecoder(const DeepgramQuery& query, SampleEncoding encoding,
                                         int channels) {
  const std::string rate = FindParameter(query, "sample_rate").value_or("");
  const int rate_hz = ToInteger("sample_rate", rate, StreamOptions::kMinRate, kLimitedByServer);
  if (encoding == SampleEncoding::kOpus) {
    if (!IsOpusRate(rate_hz))
      FailParameter("sample_rate", rate, std::string(kOpusRatesText) + " with opus");
    channels = 1;  // a packet states its channels
  }
  auto decoder = std::make_unique<RawMediaDecoder>(encoding, rate_hz, channels);
  if (encoding != SampleEncoding::kPcm16) return decoder;
  return std::make_unique<SniffingDecoder>(std::move(decoder));  // a WAV file may come instead
}

std::unique_ptr<MediaDecoder> MakeDecoder(const DeepgramQuery& query) {
  const int channels =
      ToInteger("channels", FindParameter(query, "channels").value_or("1"), 1, kMaxChannels);
  if (ReadFlag(query, "multichannel") && channels > 1) {
    FailParameter("multichannel", "true", "false: the channels are mixed");
  }
  const std::string name = FindParameter(query, "encoding").value_or("");
  for (const auto& [known, encoding] : kRawEncodings) {
    if (name == known) return RawDecoder(query, encoding, channels);
  }
  if (!name.empty() && name != "ogg-opus") FailParameter("encoding", name, kEncodings);
  return std::make_unique<SniffingDecoder>(nullptr);
}

// Silence that ends an utterance. Without `endpointing` it is that of the runtime: Deepgram's 10 ms
// would cut words.
void ReadEndpoints(const DeepgramQuery& query, DeepgramOptions* options) {
  options->start.options.Set("endpointing", true);
  // vad_turnoff is the former name of endpointing.
  const std::optional<std::string> former = FindParameter(query, "vad_turnoff");
  const std::string value = FindParameter(query, "endpointing").value_or(former.value_or("true"));
  const std::optional<bool> flag = FlagIn(value);
  options->finds_endpoints = flag.value_or(true);
  if (flag.has_value()) return;
  const double silence_s = ToInteger("endpointing", value, 0, kMaxMs) / 1000.0;
  options->start.options.Set("endpoint_silence_s",
                             std::max(silence_s, EndpointOptions::kMinSilenceS));
}

void ReadUtteranceEnd(const DeepgramQuery& query, DeepgramOptions* options) {
  const std::optional<std::string> value = FindParameter(query, "utterance_end_ms");
  if (!value.has_value()) return;
  if (!options->interim_results)
    FailParameter("utterance_end_ms", *value, "interim_results=true with it");
  options->utterance_end_ms = ToInteger("utterance_end_ms", *value, kMinUtteranceEndMs, kMaxMs);
}

}  // namespace

DeepgramOptions ReadDeepgramQuery(const DeepgramQuery& query) {
  const std::vector<std::string_view> unused = {"paragraphs", "utterances", "utt_split"};
  std::vector<std::string_view> known = {"encoding",         "sample_rate", "channels",
                                         "interim_results",  "endpointing", "vad_turnoff",
                                         "utterance_end_ms", "vad_events"};
  known.insert(known.end(), unused.begin(), unused.end());
  CheckParameters(query, known);
  DeepgramOptions options;
  options.decoder = MakeDecoder(query);
  options.interim_results = ReadFlag(query, "interim_results");
  options.vad_events = ReadFlag(query, "vad_events");
  options.punctuates = ReadPunctuates(query);
  ReadEndpoints(query, &options);
  ReadUtteranceEnd(query, &options);
  options.phrases = ReadPhrases(query);
  options.start.language_hint = ReadLanguage(query);
  options.remarks = ReadRemarks(query, unused);
  return options;
}

}  // namespace runnel::server
