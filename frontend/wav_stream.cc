#include "frontend/wav_stream.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "frontend/wav_chunks.h"

namespace runnel {
namespace {

constexpr size_t kChunkHeaderSize = 8;
constexpr size_t kMaxHeaderBytes = size_t{16} << 20;
constexpr uint32_t kAllBitsSet = 0xffffffff;
// What arecord, SoX and others announce when they write into a pipe: 2 GiB, less a little.
constexpr uint32_t kPlaceholderSize = 0x7ffff000;
// For a stream without a known end: far more than any, and safe to compute with.
constexpr uint64_t kEndlessBytes = uint64_t{1} << 60;

uint32_t LittleEndian(const char* bytes, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

void AppendLittleEndian(uint64_t value, size_t size, std::string* bytes) {
  for (size_t i = 0; i < size; ++i) bytes->push_back(static_cast<char>(value >> (8 * i)));
}

// The registered number of the samples' format; 0 when the chunk is too short.
uint32_t TagOf(const std::string& format) {
  constexpr uint32_t kExtensible = 0xfffe;
  constexpr size_t kSubFormat = 24;
  if (format.size() < 16) return 0;
  const uint32_t tag = LittleEndian(format.data(), 2);
  if (tag != kExtensible) return tag;
  return format.size() < kSubFormat + 2 ? 0 : LittleEndian(format.data() + kSubFormat, 2);
}

// Formats whose samples stand one after the other, so that reading them needs no look-ahead.
bool CanStream(const std::string& format) {
  constexpr uint32_t kPcm = 1, kFloat = 3, kALaw = 6, kMuLaw = 7;
  const uint32_t tag = TagOf(format);
  return tag == kPcm || tag == kFloat || tag == kALaw || tag == kMuLaw;
}

// Appends up to `size` bytes of the input; false if it ends before.
bool Append(int fd, size_t size, std::string* bytes) {
  const size_t old_size = bytes->size();
  bytes->resize(old_size + size);
  const size_t count = ReadFully(fd, bytes->data() + old_size, size);
  bytes->resize(old_size + count);
  return count == size;
}

// Appends the id and the size of the next chunk. Some programs leave out the byte of padding behind
// a chunk of an odd size: `may_be_padded`.
bool AppendChunkHeader(int fd, bool may_be_padded, std::string* bytes) {
  constexpr size_t kIdSize = 4;
  const size_t begin = bytes->size();
  if (!Append(fd, kChunkHeaderSize, bytes)) return false;
  const std::string_view id = std::string_view(*bytes).substr(begin, kIdSize);
  return !may_be_padded || IsWavChunk(id) || Append(fd, 1, bytes);
}

}  // namespace

WavHeader ReadWavHeader(int fd) {
  WavHeader header;
  std::string& bytes = header.bytes;
  if (!Append(fd, 12, &bytes) || bytes.compare(0, 4, "RIFF") != 0 ||
      bytes.compare(8, 4, "WAVE") != 0) {
    return header;
  }
  bool is_odd = false;  // the size of the last chunk
  while (AppendChunkHeader(fd, is_odd, &bytes)) {
    const size_t body = bytes.size();
    const std::string id = bytes.substr(body - kChunkHeaderSize, 4);
    const uint32_t size = LittleEndian(bytes.data() + body - 4, 4);
    if (id == "data") {
      header.data_size = size;
      header.complete = CanStream(header.format);
      if (header.complete && size == 0) Append(fd, kChunkHeaderSize, &header.ahead);
      return header;
    }
    if (body + size > kMaxHeaderBytes || !Append(fd, size, &bytes)) return header;
    is_odd = size % 2 != 0;
    if (id == "fmt ") {
      header.format = bytes.substr(body, size);
      if (!CanStream(header.format)) return header;
    }
  }
  return header;
}

bool IsForSndfile(const WavHeader& header) {
  // Microsoft's and IMA's ADPCM, GSM 6.10, NMS's VBXADPCM, G.721.
  constexpr std::array<uint32_t, 5> kCodecs = {0x02, 0x11, 0x31, 0x38, 0x40};
  const uint32_t tag = TagOf(header.format);
  return tag == 0 || CanStream(header.format) ||
         std::find(kCodecs.begin(), kCodecs.end(), tag) != kCodecs.end();
}

std::optional<uint64_t> WavDataSize(const WavHeader& header, bool is_pipe) {
  const uint32_t size = header.data_size;
  if (size == kAllBitsSet || (is_pipe && size >= kPlaceholderSize)) return std::nullopt;
  if (size > 0) return size;
  // No samples, if a chunk follows or nothing does in a file that was closed properly. But this is
  // also how a header looks that was never corrected, or of which only the RIFF chunk was.
  if (IsWavChunk(std::string_view(header.ahead).substr(0, 4))) return size;
  return std::nullopt;
}

WavStream::WavStream(FileDescriptor fd, const WavHeader& header, std::optional<uint64_t> data_size)
    : fd_(std::move(fd)) {
  const uint64_t data_bytes = data_size.value_or(kEndlessBytes);
  start_ = "RF64";
  AppendLittleEndian(kAllBitsSet, 4, &start_);
  start_ += "WAVEds64";
  AppendLittleEndian(28, 4, &start_);
  AppendLittleEndian(data_bytes, 8, &start_);  // of the whole file; not used
  AppendLittleEndian(data_bytes, 8, &start_);
  AppendLittleEndian(0, 8, &start_);  // number of samples; not used
  AppendLittleEndian(0, 4, &start_);  // entries of the table of other sizes
  start_ += "fmt ";
  AppendLittleEndian(header.format.size(), 4, &start_);
  start_ += header.format;
  if (header.format.size() % 2 != 0) start_.push_back('\0');
  start_ += "data";
  AppendLittleEndian(kAllBitsSet, 4, &start_);
  begin_of_data_ = static_cast<sf_count_t>(start_.size());
  if (data_bytes > 0) start_ += header.ahead;
  input_position_ = static_cast<sf_count_t>(start_.size());
  length_ = begin_of_data_ + static_cast<sf_count_t>(data_bytes);
}

SNDFILE* WavStream::Open(SF_INFO* info) {
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* self) { return static_cast<WavStream*>(self)->length_; };
  io.seek = [](sf_count_t offset, int whence, void* self) {
    return static_cast<WavStream*>(self)->Seek(offset, whence);
  };
  io.read = [](void* buffer, sf_count_t size, void* self) {
    return static_cast<WavStream*>(self)->Read(static_cast<char*>(buffer), size);
  };
  io.tell = [](void* self) { return static_cast<WavStream*>(self)->position_; };
  SNDFILE* const file = sf_open_virtual(&io, SFM_READ, info, this);
  opening_ = false;
  return file;
}

bool WavStream::PrecedesFile() {
  int64_t to_skip = length_ - input_position_;
  bool is_odd = (length_ - begin_of_data_) % 2 != 0;
  std::string bytes;
  while (::lseek(fd_.get(), to_skip, SEEK_CUR) >= 0 &&
         AppendChunkHeader(fd_.get(), is_odd, &bytes)) {
    const std::string header = bytes.substr(bytes.size() - kChunkHeaderSize);
    if (header.compare(0, 4, "RIFF") == 0) {
      return Append(fd_.get(), 4, &bytes) && bytes.compare(bytes.size() - 4, 4, "WAVE") == 0;
    }
    if (!IsWavChunk(std::string_view(header).substr(0, 4))) return false;
    to_skip = LittleEndian(header.data() + 4, 4);
    is_odd = to_skip % 2 != 0;
    bytes.clear();
  }
  return false;
}

void WavStream::RethrowReadError() const {
  if (read_error_ != nullptr) std::rethrow_exception(read_error_);
}

sf_count_t WavStream::Read(char* buffer, sf_count_t size) {
  size = std::min(size, length_ - position_);
  sf_count_t done = 0;
  const auto start_size = static_cast<sf_count_t>(start_.size());
  if (position_ < start_size) {
    done = std::min(size, start_size - position_);
    std::memcpy(buffer, start_.data() + position_, static_cast<size_t>(done));
    position_ += done;
  }
  // Behind the samples there is nothing: libsndfile only looks for more chunks there.
  if (done == size || position_ != input_position_) return done;
  try {
    const size_t count = ReadFully(fd_.get(), buffer + done, static_cast<size_t>(size - done));
    if (opening_) start_.append(buffer + done, count);
    position_ += static_cast<sf_count_t>(count);
    input_position_ = position_;
    return done + static_cast<sf_count_t>(count);
  } catch (...) {
    read_error_ = std::current_exception();
    return done;
  }
}

sf_count_t WavStream::Seek(sf_count_t offset, int whence) {
  if (whence == SEEK_CUR) offset += position_;
  if (whence == SEEK_END) offset += length_;
  if (offset < 0) return -1;
  position_ = offset;
  return position_;
}

}  // namespace runnel
