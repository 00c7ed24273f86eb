#include "frontend/media/wav_chunks.h"

#include <algorithm>
#include <array>

#include "frontend/media/container.h"
#include "frontend/media/tags.h"

namespace runnel {
namespace {

constexpr std::array<std::string_view, 34> kKnownIds = {
    "fmt ", "data", "fact", "LIST", "JUNK", "junk", "FLLR", "PAD ", "bext", "iXML", "axml", "chna",
    "id3 ", "ID3 ", "cue ", "plst", "smpl", "inst", "PEAK", "acid", "strc", "afsp", "cart", "DISP",
    "levl", "umid", "minf", "elm1", "regn", "ovwf", "_PMX", "slnt", "note", "ds64"};

constexpr uint32_t kMaxUnknownBytes = uint32_t{16} << 20;

// Of the size of an MP4 file's first box, which must not be taken for padding.
constexpr size_t kMostZerosOfRecording = 3;

uint32_t SizeOf(std::string_view header) {
  uint32_t size = 0;
  for (size_t i = kChunkHeaderBytes; i > kChunkIdBytes; --i) {
    size = size << 8 | static_cast<unsigned char>(header[i - 1]);
  }
  return size;
}

// As far as there are bytes of it.
bool MayBeKnownChunk(std::string_view bytes) {
  const std::string_view id = bytes.substr(0, kChunkIdBytes);
  return std::any_of(kKnownIds.begin(), kKnownIds.end(),
                     [id](std::string_view known) { return known.substr(0, id.size()) == id; });
}

}  // namespace

bool IsWavChunk(std::string_view id) {
  return std::find(kKnownIds.begin(), kKnownIds.end(), id) != kKnownIds.end();
}

void WavTail::PassZeros(std::string_view* rest) {
  const size_t num_zeros = std::min(rest->find_first_not_of('\0'), rest->size());
  if (num_zeros <= kMostZerosOfRecording) return;
  rest->remove_prefix(num_zeros - kMostZerosOfRecording);
  may_be_padded_ = false;
}

bool WavTail::PassPadding(std::string_view* rest) {
  rest->remove_prefix(1);
  may_be_padded_ = false;
  return true;
}

bool WavTail::PassTag(std::string_view rest) {
  num_to_skip_ = TagBytes(rest);
  if (num_to_skip_ == 0) return false;
  chunk_bytes_ = num_to_skip_;
  is_known_ = true;
  may_be_padded_ = false;
  return true;
}

bool WavTail::PassHeader(std::string_view* rest) {
  // Some programs append tags without a chunk around them.
  const bool may_be_tag = rest->substr(0, 3) == "TAG" || rest->substr(0, 3) == "ID3";
  if (may_be_tag && !IsWavChunk(rest->substr(0, kChunkIdBytes))) {
    if (rest->size() < kId3HeaderBytes) return false;
    if (PassTag(*rest)) return true;
  }
  const ContainerMatch match = MatchContainer(*rest, kSureMpegFrames);
  if (match.match == Match::kMaybe) return false;
  if (match.match == Match::kYes) {
    recording_ = match.container;
    found_ = Found::kRecording;
    return false;
  }
  if (rest->front() == '\0') return PassPadding(rest);
  if (rest->size() < kChunkHeaderBytes) return false;
  const std::string_view id = rest->substr(0, kChunkIdBytes);
  is_known_ = IsWavChunk(id);
  // Some programs pad with another byte than 0.
  if (may_be_padded_ && !is_known_) {
    const std::string_view next = rest->substr(1);
    const Match next_match = MatchContainer(next, kSureMpegFrames).match;
    if (next_match == Match::kMaybe) return false;
    const bool is_padding =
        next_match == Match::kYes || !IsChunkId(id) || IsWavChunk(next.substr(0, kChunkIdBytes));
    if (is_padding) return PassPadding(rest);
  }
  const uint32_t size = SizeOf(*rest);
  const bool is_chunk = is_known_ || (IsChunkId(id) && size <= kMaxUnknownBytes);
  if (id == "data" && size > 0) {
    found_ = Found::kData;
  } else if (id == "fmt " || !is_chunk) {
    found_ = Found::kOther;
  }
  if (found_ != Found::kNothing) return false;
  num_to_skip_ = size;
  chunk_bytes_ = kChunkHeaderBytes + uint64_t{size};
  may_be_padded_ = size % 2 != 0;
  rest->remove_prefix(kChunkHeaderBytes);
  return true;
}

WavTail::Found WavTail::Read(std::string_view* rest) {
  do {
    const uint64_t size = std::min<uint64_t>(num_to_skip_, rest->size());
    rest->remove_prefix(static_cast<size_t>(size));
    num_to_skip_ -= size;
    PassZeros(rest);
  } while (!rest->empty() && PassHeader(rest));
  return found_;
}

WavTail::Found WavTail::Finish(std::string_view rest) const {
  if (num_to_skip_ > 0) return is_known_ ? Found::kNothing : Found::kOther;
  rest.remove_prefix(std::min(rest.find_first_not_of('\0'), rest.size()));
  const bool is_padding = may_be_padded_ && rest.size() == 1;
  const bool is_cut = rest.size() < kChunkHeaderBytes && MayBeKnownChunk(rest);
  return is_padding || is_cut ? Found::kNothing : Found::kOther;
}

}  // namespace runnel
