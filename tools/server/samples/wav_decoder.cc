#include "tools/server/samples/wav_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/media/container.h"
#include "runtime/stream.h"
#include "runtime/text/printable.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/little_endian.h"
#include "tools/server/samples/raw_media_decoder.h"

namespace runnel::server {
namespace {

constexpr size_t kRiffHeaderSize = 12;
constexpr size_t kWaveAt = 8;                 // in that
constexpr size_t kFormatSize = 16;            // of the fields that every format has
constexpr size_t kExtensibleFormatSize = 40;  // of WAVE_FORMAT_EXTENSIBLE
constexpr size_t kSubFormatAt = 24;           // in that
constexpr size_t kMaxFormatSize = 1024;
constexpr unsigned kExtensible = 0xFFFE;
// What programs announce that do not know the length: 2 GiB less a little, or all bits set.
constexpr uint32_t kPlaceholderSize = 0x7FFFF000;
constexpr uint64_t kEndlessBytes = uint64_t{1} << 60;
// Stands for the header, because a recording that begins with an input is not another one.
constexpr std::string_view kScannedHeader = "-";

[[noreturn]] void Fail(const std::string& problem) {
  throw ClientMistake(ErrorCode::kBadMessage, "the WAV header: " + problem);
}

[[noreturn]] void FailBehindData(const std::string& found) {
  throw ClientMistake(
      ErrorCode::kBadMessage,
      "the WAV audio: " + found + " behind the samples, expected a chunk or another WAV file");
}

[[noreturn]] void FailAsJoined(const Container& next) {
  FailBehindData(std::string("another recording (") + next.name + ")");
}

unsigned Number16(std::string_view bytes, size_t at) {
  return FromLittleEndian<uint16_t, uint16_t>(bytes.data() + at);
}

uint32_t Number32(std::string_view bytes, size_t at) {
  return FromLittleEndian<uint32_t, uint32_t>(bytes.data() + at);
}

// Whether `bytes` begin a file, as far as they go.
bool MayBeFile(std::string_view bytes) {
  const size_t riff_size = std::min(bytes.size(), WavDecoder::kRiff.size());
  if (bytes.substr(0, riff_size) != WavDecoder::kRiff.substr(0, riff_size)) return false;
  if (bytes.size() <= kWaveAt) return true;
  const size_t wave_size = std::min(bytes.size() - kWaveAt, WavDecoder::kWave.size());
  return bytes.substr(kWaveAt, wave_size) == WavDecoder::kWave.substr(0, wave_size);
}

// Of a registered format, with a space before it; "" for those that hardly anyone uses.
std::string NameOfFormat(unsigned tag) {
  constexpr std::array<std::pair<unsigned, const char*>, 11> kNames = {{{0x02, "Microsoft ADPCM"},
                                                                        {0x11, "IMA ADPCM"},
                                                                        {0x31, "GSM 6.10"},
                                                                        {0x38, "NMS VBXADPCM"},
                                                                        {0x40, "G.721"},
                                                                        {0x42, "G.723.1"},
                                                                        {0x45, "G.726"},
                                                                        {0x55, "MP3"},
                                                                        {0x64, "G.726"},
                                                                        {0x65, "G.722"},
                                                                        {0x28F, "G.722"}}};
  for (const auto& [number, name] : kNames) {
    if (number == tag) return std::string(" (") + name + ")";
  }
  return "";
}

// `tag`: of the registered formats.
SampleEncoding EncodingOf(unsigned tag, unsigned bits) {
  if (tag == 1 && bits == 16) return SampleEncoding::kPcm16;
  if (tag == 3 && bits == 32) return SampleEncoding::kFloat32;
  if (tag == 6 && bits == 8) return SampleEncoding::kAlaw;
  if (tag == 7 && bits == 8) return SampleEncoding::kMulaw;
  Fail("format " + std::to_string(tag) + NameOfFormat(tag) + " with " + std::to_string(bits) +
       " bits, expected PCM of 16 bits, float of 32 bits, A-law or mu-law");
}

std::string NameOf(const WavDecoder::Format& format) {
  return std::to_string(format.rate_hz) + " Hz, " + std::to_string(format.channels) +
         " channels, " + runnel::NameOf(format.encoding);
}

}  // namespace

bool WavDecoder::ReadRiffHeader(std::string_view* rest) {
  if (rest->size() < kRiffHeaderSize) return false;
  if (!MayBeFile(*rest)) Fail("expected RIFF and WAVE");
  rest->remove_prefix(kRiffHeaderSize);
  part_ = Part::kChunkHeader;
  may_be_padded_ = false;
  has_format_ = false;
  return true;
}

bool WavDecoder::ReadChunkHeader(std::string_view* rest) {
  if (rest->size() < kChunkHeaderBytes) return false;
  const std::string_view id = rest->substr(0, kChunkIdBytes);
  // Some programs leave out the byte of padding behind a chunk of an odd size.
  if (may_be_padded_ && !IsWavChunk(id)) {
    rest->remove_prefix(1);
    may_be_padded_ = false;
    return true;
  }
  BeginChunk(id, Number32(*rest, kChunkIdBytes));
  rest->remove_prefix(kChunkHeaderBytes);
  return true;
}

void WavDecoder::BeginChunk(std::string_view id, uint32_t size) {
  left_ = size;
  may_be_padded_ = size % 2 != 0;
  part_ = Part::kOtherChunk;
  if (id == "fmt ") {
    if (has_format_) Fail("a second chunk 'fmt '");
    if (size < kFormatSize || size > kMaxFormatSize) {
      Fail("a format of " + std::to_string(size) + " bytes, expected " +
           std::to_string(kFormatSize) + " to " + std::to_string(kMaxFormatSize));
    }
    part_ = Part::kFormat;
  } else if (id == "data") {
    if (!has_format_) Fail("the data comes before the format");
    part_ = Part::kPerhapsData;
    if (size > 0) BeginData(size < kPlaceholderSize ? size : kEndlessBytes);
  }
}

void WavDecoder::BeginData(uint64_t size) {
  part_ = Part::kData;
  left_ = size;
  behind_ = WavTail(size);
  scanner_.emplace(&kWav);
  scanner_->Push(kScannedHeader);
  num_scanned_ = 0;
  num_clear_ = 0;
}

bool WavDecoder::ReadFormat(std::string_view* rest) {
  const auto size = static_cast<size_t>(left_);
  if (rest->size() < size) return false;
  const std::string_view header = rest->substr(0, size);
  unsigned tag = Number16(header, 0);
  const unsigned channels = Number16(header, 2);
  const uint32_t rate_hz = Number32(header, 4);
  const unsigned frame_size = Number16(header, 12);
  const unsigned bits = Number16(header, 14);
  if (tag == kExtensible && header.size() >= kExtensibleFormatSize) {
    tag = Number16(header, kSubFormatAt);
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
  const Format format = {encoding, static_cast<int>(rate_hz), static_cast<int>(channels)};
  if (data_ != nullptr && format != format_) {
    throw ClientMistake(ErrorCode::kBadMessage, "the WAV audio: another file of " + NameOf(format) +
                                                    ", expected " + NameOf(format_) +
                                                    " as in the first");
  }
  format_ = format;
  has_format_ = true;
  data_ = std::make_unique<RawMediaDecoder>(encoding, format.rate_hz, format.channels);
  rest->remove_prefix(size);
  part_ = Part::kChunkHeader;
  return true;
}

bool WavDecoder::ReadOtherChunk(std::string_view* rest) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, rest->size()));
  rest->remove_prefix(size);
  left_ -= size;
  if (left_ == 0) part_ = Part::kChunkHeader;
  return left_ == 0;
}

bool WavDecoder::ReadData(std::string_view* rest, std::vector<float>* samples) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, rest->size()));
  const auto num_seen = static_cast<size_t>(num_scanned_ - num_clear_);  // of `rest`, before
  scanner_->Push(rest->substr(num_seen, size - num_seen));
  num_scanned_ += size - num_seen;
  const bool is_joined = scanner_->found() != nullptr;
  if (is_joined && scanner_->found() != &kWav) FailAsJoined(*scanner_->found());
  const uint64_t clear =
      (is_joined ? scanner_->found_at() : scanner_->num_clear()) - kScannedHeader.size();
  const bool is_end = !is_joined && size == left_;
  const size_t num_samples_bytes = is_end ? size : static_cast<size_t>(clear - num_clear_);
  Append(rest->substr(0, num_samples_bytes), samples);
  rest->remove_prefix(num_samples_bytes);
  num_clear_ += num_samples_bytes;
  left_ -= num_samples_bytes;
  behind_.OnSkipped(num_samples_bytes);
  if (is_end) part_ = Part::kBehindData;
  if (is_joined) part_ = Part::kRiffHeader;
  return is_end || is_joined;
}

bool WavDecoder::ReadBehindData(std::string_view* rest) {
  switch (behind_.Read(rest)) {
    case WavTail::Found::kNothing:
      return false;
    case WavTail::Found::kRecording:
      if (behind_.recording() != &kWav) FailAsJoined(*behind_.recording());
      part_ = Part::kRiffHeader;
      return true;
    case WavTail::Found::kData:
    case WavTail::Found::kOther:
      break;
  }
  FailBehindData("'" + Printable(std::string(rest->substr(0, kChunkIdBytes))) + "'");
}

bool WavDecoder::ReadPart(std::string_view* rest, std::vector<float>* samples) {
  switch (part_) {
    case Part::kRiffHeader:
      return ReadRiffHeader(rest);
    case Part::kChunkHeader:
      return ReadChunkHeader(rest);
    case Part::kFormat:
      return ReadFormat(rest);
    case Part::kOtherChunk:
      return ReadOtherChunk(rest);
    case Part::kPerhapsData:
      if (rest->size() < kChunkHeaderBytes) return false;
      BeginData(IsWavChunk(rest->substr(0, kChunkIdBytes)) ? 0 : kEndlessBytes);
      return true;
    case Part::kData:
      return ReadData(rest, samples);
    case Part::kBehindData:
      return ReadBehindData(rest);
  }
  return false;
}

void WavDecoder::Append(std::string_view bytes, std::vector<float>* samples) {
  const std::vector<float> decoded = data_->Decode(bytes);
  samples->insert(samples->end(), decoded.begin(), decoded.end());
}

std::vector<float> WavDecoder::Decode(std::string_view piece) {
  const std::string input = std::exchange(held_, {}) + std::string(piece);
  std::string_view rest = input;
  std::vector<float> samples;
  while (ReadPart(&rest, &samples)) {
  }
  held_ = rest;
  return samples;
}

std::vector<float> WavDecoder::Finish() {
  std::vector<float> samples;
  if (part_ == Part::kPerhapsData || part_ == Part::kData) Append(held_, &samples);
  if (part_ == Part::kBehindData && behind_.Finish(held_) != WavTail::Found::kNothing) {
    FailBehindData(std::to_string(behind_.CountAtEnd(held_)) + " bytes");
  }
  return samples;
}

}  // namespace runnel::server
