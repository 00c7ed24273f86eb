#include "frontend/wav_stream.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "frontend/media/container.h"

namespace runnel {
namespace {

constexpr size_t kMaxHeaderBytes = size_t{16} << 20;
constexpr uint32_t kAllBitsSet = 0xffffffff;
// What arecord, SoX and others announce when they write into a pipe: 2 GiB, less a little.
constexpr uint32_t kPlaceholderSize = 0x7ffff000;
// For a stream without a known end: far more than any, and safe to compute with.
constexpr uint64_t kEndlessBytes = uint64_t{1} << 60;

uint32_t WavNumber(const char* bytes, size_t size) {
  return static_cast<uint32_t>(LittleEndian({bytes, size}));
}

void AppendLittleEndian(uint64_t value, size_t size, std::string* bytes) {
  for (size_t i = 0; i < size; ++i) bytes->push_back(static_cast<char>(value >> (8 * i)));
}

// The registered number of the samples' format; 0 when the chunk is too short.
uint32_t TagOf(const std::string& format) {
  constexpr uint32_t kExtensible = 0xfffe;
  constexpr size_t kSubFormat = 24;
  if (format.size() < 16) return 0;
  const uint32_t tag = WavNumber(format.data(), 2);
  if (tag != kExtensible) return tag;
  return format.size() < kSubFormat + 2 ? 0 : WavNumber(format.data() + kSubFormat, 2);
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
  const size_t begin = bytes->size();
  if (!Append(fd, kChunkHeaderBytes, bytes)) return false;
  const std::string_view id = std::string_view(*bytes).substr(begin, kChunkIdBytes);
  return !may_be_padded || IsWavChunk(id) || Append(fd, 1, bytes);
}

// The bytes from the present position to the end of a file; no value for other input.
std::optional<uint64_t> BytesLeft(int fd) {
  struct stat status = {};
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  if (position < 0 || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(std::max<off_t>(status.st_size - position, 0));
}

// `held`: the first bytes, which were read before.
WavEnd ReadTail(int fd, WavTail* tail, std::string held) {
  constexpr size_t kBlock = 1 << 16;
  std::string block(kBlock, '\0');
  for (;;) {
    std::string_view rest = held;
    const WavTail::Found found = tail->Read(&rest);
    held.erase(0, held.size() - rest.size());
    std::optional<uint64_t> left = BytesLeft(fd);
    if (found != WavTail::Found::kNothing) {
      if (left.has_value()) *left += held.size();
      return {found, tail->recording(), left};
    }
    if (left.has_value()) {
      const uint64_t size = std::min(tail->num_to_skip(), *left);
      ::lseek(fd, static_cast<off_t>(size), SEEK_CUR);
      tail->OnSkipped(size);
    }
    const size_t count = ReadFully(fd, block.data(), block.size());
    if (count == 0) return {tail->Finish(held), nullptr, tail->CountAtEnd(held)};
    held.append(block, 0, count);
  }
}

// Reads parts of a file, many of which are next to each other.
class FileBytes {
 public:
  FileBytes(int fd, off_t begin) : fd_(fd), begin_(begin) {}

  // Fewer at the end of the file.
  std::string_view At(uint64_t offset, size_t size) {
    if (offset < block_at_ || offset + size > block_at_ + block_.size()) {
      block_ = ReadAt(fd_, begin_ + static_cast<off_t>(offset), kBlock);
      block_at_ = offset;
    }
    return std::string_view(block_).substr(static_cast<size_t>(offset - block_at_), size);
  }

 private:
  static constexpr size_t kBlock = 1 << 12;
  const int fd_;
  const off_t begin_;
  uint64_t block_at_ = 0;
  std::string block_;
};

struct WavData {
  uint64_t at = 0;  // of the first sample in the file
  uint64_t size = 0;
};

// No value if there is no chunk of samples, or if it has no length.
std::optional<WavData> FindWavData(int fd, off_t begin) {
  constexpr size_t kRiffHeaderBytes = 12;
  constexpr size_t kBytesOf64 = 28;  // of the chunk "ds64"
  FileBytes file(fd, begin);
  uint64_t size_of_64 = 0;
  uint64_t at = kRiffHeaderBytes;
  bool is_odd = false;
  for (;;) {
    std::string_view header = file.At(at, kChunkHeaderBytes + 1);
    if (is_odd && !IsWavChunk(header.substr(0, kChunkIdBytes))) {
      header.remove_prefix(std::min<size_t>(header.size(), 1));
      ++at;
    }
    if (header.size() < kChunkHeaderBytes || at > kMaxHeaderBytes) return std::nullopt;
    const std::string_view id = header.substr(0, kChunkIdBytes);
    const uint32_t size = WavNumber(header.data() + kChunkIdBytes, 4);
    const bool is_data = id == "data", is_64 = id == "ds64";
    at += kChunkHeaderBytes;
    if (is_data) {
      const uint64_t data_size = size == kAllBitsSet ? size_of_64 : size;
      return data_size == 0 ? std::nullopt : std::optional<WavData>({at, data_size});
    }
    if (is_64) {
      const std::string_view body = file.At(at, kBytesOf64);
      if (body.size() < kBytesOf64) return std::nullopt;
      size_of_64 = WavNumber(body.data() + 8, 4) | uint64_t{WavNumber(body.data() + 12, 4)} << 32;
    }
    at += size;
    is_odd = size % 2 != 0;
  }
}

}  // namespace

WavEnd ReadWavEnd(int fd, off_t begin) {
  const std::optional<WavData> data = FindWavData(fd, begin);
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  if (!data.has_value() || position < 0) return {};
  ::lseek(fd, begin + static_cast<off_t>(data->at), SEEK_SET);
  WavTail tail(data->size);
  const WavEnd end = ReadTail(fd, &tail, "");
  ::lseek(fd, position, SEEK_SET);
  return end;
}

std::optional<DataSize> ReadWavDataSize(int fd, off_t begin) {
  const std::optional<WavData> data = FindWavData(fd, begin);
  struct stat status = {};
  if (!data.has_value() || ::fstat(fd, &status) != 0) return std::nullopt;
  const bool is_placeholder = ReadAt(fd, begin, 4) == "RIFF" && data->size >= kPlaceholderSize;
  if (is_placeholder || data->size >= kEndlessBytes) return std::nullopt;
  const auto file_bytes = static_cast<uint64_t>(std::max<off_t>(status.st_size - begin, 0));
  return DataSize{data->size, std::min(data->size, file_bytes - std::min(file_bytes, data->at))};
}

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
    const std::string id = bytes.substr(body - kChunkHeaderBytes, 4);
    const uint32_t size = WavNumber(bytes.data() + body - 4, 4);
    if (id == "data") {
      header.data_size = size;
      header.complete = CanStream(header.format);
      if (header.complete && size == 0) Append(fd, kChunkHeaderBytes, &header.ahead);
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
    : fd_(std::move(fd)),
      data_size_(data_size),
      ahead_(header.ahead),
      data_at_(header.bytes.size()) {
  scanner_.Push(header.bytes);
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
  if (data_bytes > 0) {
    start_ += header.ahead;
    scanner_.Push(header.ahead);
  }
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

int64_t WavStream::num_bytes_before_next() const {
  return static_cast<int64_t>(scanner_.found_at() - std::min(scanner_.found_at(), data_at_));
}

WavEnd WavStream::ReadEnd() {
  if (!data_size_.has_value()) return {};
  WavTail tail(*data_size_);
  tail.OnSkipped(static_cast<uint64_t>(input_position_ - begin_of_data_));
  return ReadTail(fd_.get(), &tail, *data_size_ == 0 ? ahead_ : "");
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
    scanner_.Push({buffer + done, count});
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
