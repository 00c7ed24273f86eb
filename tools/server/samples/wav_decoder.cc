#include "tools/server/samples/wav_decoder.h"

#include <algorithm>
#include <limits>

#include "runtime/stream.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/little_endian.h"
#include "tools/server/samples/raw_media_decoder.h"

namespace runnel::server {
namespace {

constexpr size_t kRiffHeaderSize = 12;
constexpr size_t kChunkHeaderSize = 8;
constexpr size_t kFormatSize = 16;            // of the fields that every format has
constexpr size_t kExtensibleFormatSize = 40;  // of WAVE_FORMAT_EXTENSIBLE
constexpr size_t kSubFormatAt = 24;           // in that
constexpr size_t kMaxFormatSize = 1024;
constexpr uint32_t kUnknownLength = std::numeric_limits<uint32_t>::max();
constexpr unsigned kExtensible = 0xFFFE;

[[noreturn]] void Fail(const std::string& problem) {
  throw ClientMistake(ErrorCode::kBadMessage, "the WAV header: " + problem);
}

unsigned Number16(const std::string& bytes, size_t at) {
  return FromLittleEndian<uint16_t, uint16_t>(bytes.data() + at);
}

uint32_t Number32(const std::string& bytes, size_t at) {
  return FromLittleEndian<uint32_t, uint32_t>(bytes.data() + at);
}

// Chunks of an odd size are followed by one more byte.
uint64_t Padded(uint32_t size) { return uint64_t{size} + size % 2; }

// `tag`: of the registered formats.
SampleEncoding EncodingOf(unsigned tag, unsigned bits) {
  if (tag == 1 && bits == 16) return SampleEncoding::kPcm16;
  if (tag == 3 && bits == 32) return SampleEncoding::kFloat32;
  if (tag == 6 && bits == 8) return SampleEncoding::kAlaw;
  if (tag == 7 && bits == 8) return SampleEncoding::kMulaw;
  Fail("format " + std::to_string(tag) + " with " + std::to_string(bits) +
       " bits, expected PCM of 16 bits, float of 32 bits, A-law or mu-law");
}

}  // namespace

bool WavDecoder::ReadHeader(size_t size, std::string_view* piece) {
  const size_t taken = std::min(size - header_.size(), piece->size());
  header_ += piece->substr(0, taken);
  piece->remove_prefix(taken);
  return header_.size() == size;
}

void WavDecoder::OnRiffHeader() {
  if (header_.compare(0, kRiff.size(), kRiff) != 0 ||
      header_.compare(8, kWave.size(), kWave) != 0) {
    Fail("expected RIFF and WAVE");
  }
  part_ = Part::kChunkHeader;
}

void WavDecoder::OnChunkHeader() {
  const std::string name = header_.substr(0, 4);
  const uint32_t size = Number32(header_, 4);
  left_ = Padded(size);
  part_ = Part::kOtherChunk;
  if (name == "fmt ") {
    if (data_ != nullptr) Fail("a second chunk 'fmt '");
    if (size < kFormatSize || size > kMaxFormatSize) {
      Fail("a format of " + std::to_string(size) + " bytes, expected " +
           std::to_string(kFormatSize) + " to " + std::to_string(kMaxFormatSize));
    }
    part_ = Part::kFormat;
  } else if (name == "data") {
    if (data_ == nullptr) Fail("the data comes before the format");
    left_ = size == 0 || size == kUnknownLength ? std::numeric_limits<uint64_t>::max() : size;
    part_ = Part::kData;
  }
}

void WavDecoder::OnFormat() {
  unsigned tag = Number16(header_, 0);
  const unsigned channels = Number16(header_, 2);
  const uint32_t rate_hz = Number32(header_, 4);
  const unsigned frame_size = Number16(header_, 12);
  const unsigned bits = Number16(header_, 14);
  if (tag == kExtensible && header_.size() >= kExtensibleFormatSize) {
    tag = Number16(header_, kSubFormatAt);
  }
  const SampleEncoding encoding = EncodingOf(tag, bits);
  if (channels < 1 || channels > static_cast<unsigned>(kMaxChannels)) {
    Fail(std::to_string(channels) + " channels, expected 1 to " + std::to_string(kMaxChannels));
  }
  if (frame_size != channels * bits / 8) {
    Fail(std::to_string(frame_size) + " bytes for the samples of an instant, expected " +
         std::to_string(channels * bits / 8));
  }
  if (rate_hz < uint32_t{StreamOptions::kMinRate} || rate_hz > uint32_t{StreamOptions::kMaxRate}) {
    Fail("a rate of " + std::to_string(rate_hz) + " Hz, expected " +
         std::to_string(StreamOptions::kMinRate) + " to " +
         std::to_string(StreamOptions::kMaxRate));
  }
  data_ = std::make_unique<RawMediaDecoder>(encoding, static_cast<int>(rate_hz),
                                            static_cast<int>(channels));
  part_ = Part::kChunkHeader;
}

std::vector<float> WavDecoder::Decode(std::string_view piece) {
  const auto read_header = [&](size_t size, void (WavDecoder::*on_header)()) {
    if (!ReadHeader(size, &piece)) return;
    (this->*on_header)();
    header_.clear();
  };
  std::vector<float> samples;
  while (!piece.empty()) {
    const auto in_chunk = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
    switch (part_) {
      case Part::kRiffHeader:
        read_header(kRiffHeaderSize, &WavDecoder::OnRiffHeader);
        break;
      case Part::kChunkHeader:
        read_header(kChunkHeaderSize, &WavDecoder::OnChunkHeader);
        break;
      case Part::kFormat:
        read_header(static_cast<size_t>(left_), &WavDecoder::OnFormat);
        break;
      case Part::kData:
        samples = data_->Decode(piece.substr(0, in_chunk));
        [[fallthrough]];
      case Part::kOtherChunk:
        piece.remove_prefix(in_chunk);
        left_ -= in_chunk;
        if (left_ == 0) part_ = part_ == Part::kData ? Part::kRest : Part::kChunkHeader;
        break;
      case Part::kRest:
        return samples;
    }
  }
  return samples;
}

}  // namespace runnel::server
