#include "tools/server/samples/sniffing_decoder.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/ogg_opus_decoder.h"
#include "tools/server/samples/wav_decoder.h"

namespace runnel::server {
namespace {

constexpr size_t kWaveAt = 8;
constexpr size_t kWavMagicSize = kWaveAt + WavDecoder::kWave.size();

// Whether `bytes` and `magic` are equal as far as both go.
bool Agree(std::string_view bytes, std::string_view magic) {
  const size_t size = std::min(bytes.size(), magic.size());
  return bytes.substr(0, size) == magic.substr(0, size);
}

bool MayBeWav(std::string_view begin) {
  return Agree(begin, WavDecoder::kRiff) &&
         (begin.size() <= kWaveAt || Agree(begin.substr(kWaveAt), WavDecoder::kWave));
}

bool MayBeOgg(std::string_view begin) { return Agree(begin, OggOpusDecoder::kMagic); }

// The name of another format, for an error message.
std::string NameOfFormat(std::string_view begin) {
  struct Format {
    size_t at;
    std::string_view magic;
    const char* name;
  };
  constexpr std::array<Format, 7> kFormats = {{{0, "fLaC", "FLAC"},
                                               {0, "ID3", "MP3"},
                                               {0, "\x1A\x45\xDF\xA3", "WebM or Matroska"},
                                               {0, "FORM", "AIFF"},
                                               {0, "#!AMR", "AMR"},
                                               {0, "RIFX", "RIFX"},
                                               {4, "ftyp", "MP4"}}};
  for (const Format& format : kFormats) {
    if (begin.size() >= format.at + format.magic.size() &&
        begin.substr(format.at, format.magic.size()) == format.magic) {
      return format.name;
    }
  }
  return "in no known format";
}

}  // namespace

std::vector<float> SniffingDecoder::Decode(std::string_view piece) {
  if (decoder_ != nullptr) return decoder_->Decode(piece);
  begin_ += piece;
  const bool is_undecided = (MayBeWav(begin_) && begin_.size() < kWavMagicSize) ||
                            (MayBeOgg(begin_) && begin_.size() < OggOpusDecoder::kMagic.size());
  if (is_undecided) return {};
  decoder_ = Choose();
  return decoder_->Decode(std::exchange(begin_, {}));
}

std::unique_ptr<MediaDecoder> SniffingDecoder::Choose() {
  if (MayBeWav(begin_)) return std::make_unique<WavDecoder>();
  if (MayBeOgg(begin_)) return std::make_unique<OggOpusDecoder>();
  if (headerless_ != nullptr) return std::move(headerless_);
  throw ClientMistake(ErrorCode::kBadMessage, "the audio is " + NameOfFormat(begin_) +
                                                  ", expected WAV, Ogg Opus, or an encoding and a "
                                                  "sample_rate in the query");
}

}  // namespace runnel::server
