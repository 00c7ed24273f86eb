#include "tools/server/samples/sniffing_decoder.h"

#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/media_stream_decoder.h"
#include "tools/server/samples/ogg_opus_decoder.h"
#include "tools/server/samples/wav_decoder.h"

namespace runnel::server {
namespace {

[[noreturn]] void Refuse(const std::string& format) {
  throw ClientMistake(ErrorCode::kBadMessage,
                      "the audio is " + format +
                          ", expected WAV, Ogg Opus, WebM, MP4, MP3, FLAC, AAC, AMR, MPEG-TS, "
                          "AVI, FLV, WMA or CAF, or an encoding and a sample_rate in the query");
}

}  // namespace

ContainerMatch SniffingDecoder::Find() const {
  // Samples may look like one frame.
  const ContainerMatch found = MatchContainer(begin_, headerless_ == nullptr ? 1 : kSureMpegFrames);
  // The first packet of an Ogg stream tells its codec.
  const bool is_ogg = begin_.rfind(OggOpusDecoder::kMagic, 0) == 0;
  if (is_ogg && begin_.size() < OggOpusDecoder::kHeadEnd) return {Match::kMaybe, nullptr};
  return found;
}

std::unique_ptr<MediaDecoder> SniffingDecoder::DecoderOf(const Container& container) const {
  const bool is_wav = &container == &kWav;
  if (is_wav && begin_.rfind(WavDecoder::kRiff, 0) == 0) return std::make_unique<WavDecoder>();
  if (OggOpusDecoder::Begins(begin_)) return std::make_unique<OggOpusDecoder>();
  if (is_wav) Refuse("RF64");  // which is WAV otherwise
  if (container.demuxer == nullptr) Refuse(container.name);
  return std::make_unique<MediaStreamDecoder>(container);
}

std::unique_ptr<MediaDecoder> SniffingDecoder::HeaderlessDecoder() {
  if (headerless_ == nullptr) Refuse("in no known format");
  return std::move(headerless_);
}

std::string SniffingDecoder::TakeClear(std::string_view piece) {
  if (!scanner_.has_value()) return std::string(piece);
  const uint64_t num_taken = scanner_->num_clear();
  scanner_->Push(piece);
  if (scanner_->found() != nullptr) {
    throw ClientMistake(ErrorCode::kBadMessage, std::string("the audio is ") + container_->name +
                                                    " and is followed by another recording (" +
                                                    scanner_->found()->name + "), expected one");
  }
  held_ += piece;
  const auto count = static_cast<size_t>(scanner_->num_clear() - num_taken);
  std::string clear = held_.substr(0, count);
  held_.erase(0, count);
  return clear;
}

std::vector<float> SniffingDecoder::Decode(std::string_view piece) {
  if (is_end_due_ && !decoder_->has_more()) {
    is_end_due_ = false;
    return decoder_->Finish();
  }
  if (decoder_ != nullptr) return decoder_->Decode(TakeClear(piece));
  begin_ += piece;
  const ContainerMatch found = Find();
  if (found.match == Match::kMaybe) return {};
  decoder_ = found.match == Match::kYes ? DecoderOf(*found.container) : HeaderlessDecoder();
  if (found.match == Match::kYes && found.container != &kWav) {
    container_ = found.container;
    scanner_.emplace(container_);
  }
  return decoder_->Decode(TakeClear(std::exchange(begin_, {})));
}

std::vector<float> SniffingDecoder::Finish() {
  if (decoder_ == nullptr) {
    if (begin_.empty()) return {};
    if (headerless_ == nullptr) {
      throw ClientMistake(ErrorCode::kBadMessage, "the audio ends within its header");
    }
    decoder_ = HeaderlessDecoder();
    held_ = std::exchange(begin_, {});
  }
  if (held_.empty()) return decoder_->Finish();
  std::vector<float> samples = decoder_->Decode(std::exchange(held_, {}));
  is_end_due_ = decoder_->has_more();
  if (is_end_due_) return samples;
  const std::vector<float> last = decoder_->Finish();
  samples.insert(samples.end(), last.begin(), last.end());
  return samples;
}

}  // namespace runnel::server
