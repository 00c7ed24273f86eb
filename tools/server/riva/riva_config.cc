#include "tools/server/riva/riva_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "frontend/media/container.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/language_match.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/phrase_hotwords.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"

namespace runnel::server {
namespace {

using nvidia::riva::AudioEncoding;
using nvidia::riva::AudioEncoding_Name;
using nvidia::riva::asr::EndpointingConfig;
using nvidia::riva::asr::RecognitionConfig;

// The default of NVIDIA's Python client, and the boost that stands for the default score here.
constexpr float kUsualBoost = 4;
constexpr float kMaxBoost = 100;
constexpr size_t kMaxPhrases = 10000;
constexpr size_t kMaxLanguage = 40;  // bytes of a language code

[[noreturn]] void Fail(const std::string& field, const std::string& value,
                       const std::string& expected) {
  throw ClientMistake(ErrorCode::kBadOption,
                      "config." + field + " is " + value + ", expected " + expected);
}

void CheckAbilities(const RecognitionConfig& config, const RivaModel& model) {
  if (config.profanity_filter()) Fail("profanity_filter", "true", "false on this server");
  if (config.diarization_config().enable_speaker_diarization()) {
    Fail("diarization_config.enable_speaker_diarization", "true", "false on this server");
  }
  if (config.enable_separate_recognition_per_channel()) {
    Fail("enable_separate_recognition_per_channel", "true", "false on this server");
  }
  if (!config.model().empty() && config.model() != model.name) {
    Fail("model", Quoted(config.model()), Quoted(model.name) + " or nothing");
  }
}

void ReadAlternatives(const RecognitionConfig& config, StartRequest* start) {
  const int most = config.max_alternatives();
  if (most < 0) Fail("max_alternatives", std::to_string(most), "0 or more");
  start->max_alternatives = std::max(1, most);
}

// A code that names no language of the model is left to the recognizer, whose message lists the
// languages.
void ReadLanguage(const RecognitionConfig& config, const RivaModel& model, StartRequest* start) {
  const std::string& code = config.language_code();
  if (code.empty() || model.languages.empty()) return;
  start->options.Set("language",
                     MatchLanguage(model.languages, code).value_or(code.substr(0, kMaxLanguage)));
}

void ReadContexts(const RecognitionConfig& config, const RivaModel& model, StartRequest* start) {
  std::vector<WeightedPhrase> phrases;
  size_t num_bytes = 0;
  for (const auto& context : config.speech_contexts()) {
    if (!(std::abs(context.boost()) <= kMaxBoost)) {  // a NaN neither
      Fail("speech_contexts.boost", std::to_string(context.boost()),
           Decimal(static_cast<double>(-kMaxBoost), 0) + " to " +
               Decimal(static_cast<double>(kMaxBoost), 0));
    }
    const float boost = context.boost() == 0 ? kUsualBoost : context.boost();
    for (const std::string& phrase : context.phrases()) {
      num_bytes += phrase.size();
      phrases.push_back({phrase, static_cast<double>(boost / kUsualBoost)});
    }
  }
  if (num_bytes > kMaxControlBytes || phrases.size() > kMaxPhrases) {
    Fail("speech_contexts",
         std::to_string(phrases.size()) + " phrases of " + std::to_string(num_bytes) + " bytes",
         "at most " + std::to_string(kMaxPhrases) + " phrases of " +
             std::to_string(kMaxControlBytes) + " bytes");
  }
  start->options.SetHotwords(PhraseHotwords(phrases, *model.tokens));
}

void ReadEndpoints(const RecognitionConfig& config, ChosenOptions* options) {
  options->Set("endpointing", true);
  const EndpointingConfig& wish = config.endpointing_config();
  if (!wish.has_stop_history()) return;
  const double silence_s = wish.stop_history() / 1000.0;
  if (silence_s < EndpointOptions::kMinSilenceS || silence_s > EndpointOptions::kMaxSeconds) {
    Fail("endpointing_config.stop_history", std::to_string(wish.stop_history()),
         Decimal(EndpointOptions::kMinSilenceS * 1000, 0) + " to " +
             Decimal(EndpointOptions::kMaxSeconds * 1000, 0) + " ms");
  }
  options->Set("endpoint_silence_s", silence_s);
}

// Samples without a header.
struct RawAudio {
  SampleEncoding encoding = SampleEncoding::kPcm16;
  int sample_rate_hz = 0;
  int num_channels = 1;
};

// How `config` describes samples without a header. Empty for an encoding that needs a header.
std::optional<RawAudio> ReadRawAudio(const RecognitionConfig& config, const RivaModel& model) {
  RawAudio audio;
  switch (config.encoding()) {
    case AudioEncoding::LINEAR_PCM:
      audio.encoding = SampleEncoding::kPcm16;
      break;
    case AudioEncoding::MULAW:
      audio.encoding = SampleEncoding::kMulaw;
      break;
    case AudioEncoding::ALAW:
      audio.encoding = SampleEncoding::kAlaw;
      break;
    default:
      return std::nullopt;
  }
  audio.sample_rate_hz =
      config.sample_rate_hertz() == 0 ? model.sample_rate_hz : config.sample_rate_hertz();
  if (audio.sample_rate_hz < StreamOptions::kMinRate ||
      audio.sample_rate_hz > StreamOptions::kMaxRate) {
    Fail("sample_rate_hertz", std::to_string(audio.sample_rate_hz),
         "0 (that of the model) or " + std::to_string(StreamOptions::kMinRate) + " to " +
             std::to_string(StreamOptions::kMaxRate));
  }
  const int num_channels = config.audio_channel_count();
  if (num_channels < 0 || num_channels > kMaxChannels) {
    Fail("audio_channel_count", std::to_string(num_channels),
         "0 to " + std::to_string(kMaxChannels));
  }
  audio.num_channels = std::max(1, num_channels);
  return audio;
}

// Stands for the decoder of samples when the config describes none.
class NoSampleDecoder : public MediaDecoder {
 public:
  explicit NoSampleDecoder(AudioEncoding encoding) : encoding_(encoding) {}

  std::vector<float> Decode(std::string_view /*piece*/) override {
    const std::string name = AudioEncoding_Name(encoding_);
    Fail("encoding", name.empty() ? std::to_string(encoding_) : name,
         "LINEAR_PCM, MULAW or ALAW in a stream that is no file, such as WAV or Ogg Opus");
  }
  int sample_rate_hz() const override { return 0; }

 private:
  const AudioEncoding encoding_;
};

bool HasHeader(std::string_view audio) {
  return MatchContainer(audio, kSureMpegFrames).match == Match::kYes;
}

void AppendLittleEndian(uint32_t value, int num_bytes, std::string* bytes) {
  for (int i = 0; i < num_bytes; ++i) *bytes += static_cast<char>(value >> (8 * i) & 0xFF);
}

}  // namespace

std::string ResponseId(const nvidia::riva::RequestId& wanted, const std::string& otherwise) {
  constexpr size_t kMaxIdBytes = 256;
  return ValidText(wanted.value().empty() ? otherwise : wanted.value().substr(0, kMaxIdBytes));
}

StartRequest ReadRivaConfig(const RecognitionConfig& config, const RivaModel& model) {
  CheckAbilities(config, model);
  StartRequest start;
  ReadAlternatives(config, &start);
  ReadLanguage(config, model, &start);
  ReadContexts(config, model, &start);
  ReadEndpoints(config, &start.options);
  return start;
}

RivaParts PartsOf(const RecognitionConfig& config, const RivaModel& model) {
  return {static_cast<size_t>(std::max(1, config.max_alternatives())),
          config.enable_word_time_offsets(), model.tokens->has_word_boundaries()};
}

std::unique_ptr<MediaDecoder> MakeRivaDecoder(const RecognitionConfig& config,
                                              const RivaModel& model) {
  std::unique_ptr<MediaDecoder> samples;
  if (const std::optional<RawAudio> raw = ReadRawAudio(config, model)) {
    samples =
        std::make_unique<RawMediaDecoder>(raw->encoding, raw->sample_rate_hz, raw->num_channels);
  } else {
    samples = std::make_unique<NoSampleDecoder>(config.encoding());
  }
  return std::make_unique<SniffingDecoder>(std::move(samples));
}

// The header is that of Microsoft's "Multimedia Programming Interface and Data Specifications 1.0".
std::string RecordingFile(const RecognitionConfig& config, std::string audio,
                          const RivaModel& model) {
  constexpr uint32_t kFormatSize = 16;
  constexpr uint32_t kHeaderSize = 36;  // after the size of the file, before the samples
  const std::optional<RawAudio> raw = ReadRawAudio(config, model);
  if (!raw.has_value() || HasHeader(audio)) return audio;
  const bool is_pcm = raw->encoding == SampleEncoding::kPcm16;
  const auto num_channels = static_cast<uint32_t>(raw->num_channels);
  const auto rate_hz = static_cast<uint32_t>(raw->sample_rate_hz);
  const uint32_t sample_size = is_pcm ? 2 : 1;
  const auto size = static_cast<uint32_t>(audio.size());
  std::string file = "RIFF";
  AppendLittleEndian(size + kHeaderSize, 4, &file);
  file += "WAVEfmt ";
  AppendLittleEndian(kFormatSize, 4, &file);
  AppendLittleEndian(is_pcm ? 1 : raw->encoding == SampleEncoding::kAlaw ? 6 : 7, 2, &file);
  AppendLittleEndian(num_channels, 2, &file);
  AppendLittleEndian(rate_hz, 4, &file);
  AppendLittleEndian(rate_hz * num_channels * sample_size, 4, &file);
  AppendLittleEndian(num_channels * sample_size, 2, &file);
  AppendLittleEndian(8 * sample_size, 2, &file);
  file += "data";
  AppendLittleEndian(size, 4, &file);
  return file + audio;
}

}  // namespace runnel::server
