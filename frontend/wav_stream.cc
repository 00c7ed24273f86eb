#include "frontend/wav_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace runnel {
namespace {

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

// Formats whose samples stand one after the other, so that reading them needs no look-ahead.
bool CanStream(const std::string& format) {
  constexpr uint32_t kPcm = 1, kFloat = 3, kALaw = 6, kMuLaw = 7, kExtensible = 0xfffe;
  if (format.size() < 16) return false;
  uint32_t tag = LittleEndian(format.data(), 2);
  if (tag == kExtensible) {
    constexpr size_t kSubFormat = 24;
    if (format.size() < kSubFormat + 2) return false;
    tag = LittleEndian(format.data() + kSubFormat, 2);
  }
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

}  // namespace

WavHeader ReadWavHeader(int fd) {
  WavHeader header;
  std::string& bytes = header.bytes;
  if (!Append(fd, 12, &bytes) || bytes.compare(0, 4, "RIFF") != 0 ||
      bytes.compare(8, 4, "WAVE") != 0) {
    return header;
  }
  header.riff_size = LittleEndian(bytes.data() + 4, 4);
  while (Append(fd, 8, &bytes)) {
    const size_t body = bytes.size();
    const std::string id = bytes.substr(body - 8, 4);
    const uint32_t size = LittleEndian(bytes.data() + body - 4, 4);
    if (id == "data") {
      header.data_size = size;
      header.complete = CanStream(header.format);
      return header;
    }
    const size_t padded = size_t{size} + size % 2;
    if (body + padded > kMaxHeaderBytes || !Append(fd, padded, &bytes)) return header;
    if (id == "fmt ") {
      header.format = bytes.substr(body, size);
      if (!CanStream(header.format)) return header;
    }
  }
  return header;
}

std::optional<uint64_t> WavDataSize(const WavHeader& header, bool is_pipe) {
  const uint32_t size = header.data_size;
  if (size == kAllBitsSet || (is_pipe && size >= kPlaceholderSize)) return std::nullopt;
  if (size > 0) return size;
  // No samples, if the RIFF chunk goes on behind this chunk or ends exactly after it in a file that
  // was closed properly; but this is also how a header looks that was never corrected.
  const bool more_chunks =
      header.riff_size > header.bytes.size() - 8 && header.riff_size < kPlaceholderSize;
  if (more_chunks) return size;
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
  input_position_ = static_cast<sf_count_t>(start_.size());
  length_ = input_position_ + static_cast<sf_count_t>(data_bytes);
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
