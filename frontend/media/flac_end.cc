#include "frontend/media/flac_end.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/media/container.h"
#include "frontend/media/tags.h"
#include "platform/file_descriptor.h"

namespace runnel {
namespace {

constexpr size_t kFlacBlockBytes = 1 << 18;

// Of a file that begins somewhere in another.
struct FlacFile {
  int fd;
  off_t begin;
  uint64_t size;

  std::string Read(uint64_t offset, size_t count) const {
    count = static_cast<size_t>(std::min<uint64_t>(count, size - std::min(size, offset)));
    return ReadAt(fd, begin + static_cast<off_t>(offset), count);
  }
};

// RFC 9639, section 8.2.
struct StreamInfo {
  uint64_t block_size = 0;   // samples of all frames but the last, where they are fixed
  uint64_t num_samples = 0;  // 0: unknown
};

StreamInfo ReadStreamInfo(const FlacFile& file) {
  constexpr size_t kBytes = 26;  // up to the number of samples
  const std::string head = file.Read(0, kBytes);
  if (head.size() < kBytes) return {};
  const std::string_view bytes = head;
  return {BigEndian(bytes.substr(10, 2)), BigEndian(bytes.substr(18, 8)) & 0xFFFFFFFFF};
}

unsigned Byte(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

unsigned Crc8(std::string_view bytes) {
  unsigned crc = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    crc ^= Byte(bytes, i);
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1 ^ ((crc & 0x80) != 0 ? 0x07 : 0)) & 0xFF;
  }
  return crc;
}

// RFC 9639, section 9.1.
constexpr size_t kMaxFrameHeaderBytes = 16;

// Whether `bytes`, at least kMaxFrameHeaderBytes, begin with the last frame.
bool IsLastFrame(std::string_view bytes, const StreamInfo& info) {
  const bool has_sync = Byte(bytes, 0) == 0xFF && (Byte(bytes, 1) & 0xFE) == 0xF8;
  const unsigned size_code = Byte(bytes, 2) >> 4, rate_code = Byte(bytes, 2) & 0xF;
  if (!has_sync || size_code == 0 || rate_code == 0xF || (Byte(bytes, 3) & 1) != 0) {
    return false;
  }
  // A number as in UTF-8, of up to 7 bytes.
  size_t at = 4;
  size_t num_bytes = 0;
  const unsigned first = Byte(bytes, at++);
  while (num_bytes < 8 && (first & 0x80U >> num_bytes) != 0) ++num_bytes;
  if (num_bytes == 1 || num_bytes == 8) return false;
  uint64_t number = first & 0x7FU >> num_bytes;
  for (size_t i = 1; i < num_bytes; ++i) number = number << 6 | (Byte(bytes, at++) & 0x3F);

  uint64_t size = uint64_t{256} << (size_code & 7);
  if (size_code == 1) size = 192;
  if (size_code >= 2 && size_code <= 5) size = uint64_t{576} << (size_code - 2);
  if (size_code == 6 || size_code == 7) {
    size = BigEndian(bytes.substr(at, size_code - 5)) + 1;
    at += size_code - 5;
  }
  if (rate_code == 12) at += 1;
  if (rate_code > 12) at += 2;
  const bool counts_samples = (Byte(bytes, 1) & 1) != 0;  // otherwise frames
  const uint64_t begin = counts_samples ? number : number * info.block_size;
  return begin + size == info.num_samples && Crc8(bytes.substr(0, at)) == Byte(bytes, at);
}

// From the end of the file, because the last frame is near it.
std::optional<uint64_t> FindLastFrame(const FlacFile& file, const StreamInfo& info) {
  for (uint64_t end = file.size; end > 0; end -= std::min<uint64_t>(end, kFlacBlockBytes)) {
    const uint64_t begin = end - std::min<uint64_t>(end, kFlacBlockBytes);
    const auto size = static_cast<size_t>(end - begin);
    std::string block = file.Read(begin, size + kMaxFrameHeaderBytes);
    block.resize(size + kMaxFrameHeaderBytes);  // the last frame may be shorter
    const std::string_view bytes = block;
    for (size_t i = size; i-- > 0;) {
      if (bytes[i] == '\xFF' && IsLastFrame(bytes.substr(i), info)) return begin + i;
    }
  }
  return std::nullopt;
}

std::array<uint16_t, 256> Crc16Table() {
  std::array<uint16_t, 256> table = {};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x18005 : 0);
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}

}  // namespace

bool HasBytesBehindFlac(int fd, off_t begin) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || status.st_size <= begin) return false;
  const FlacFile file = {fd, begin, static_cast<uint64_t>(status.st_size - begin)};
  const StreamInfo info = ReadStreamInfo(file);
  if (info.num_samples == 0) return false;
  const std::optional<uint64_t> frame = FindLastFrame(file, info);
  if (!frame.has_value()) return false;
  // A frame ends with its checksum, after which the sum of all is 0. Zeros do not change that.
  static const std::array<uint16_t, 256> table = Crc16Table();
  const uint64_t end = TagsAtEnd(
      file.size, [&file](uint64_t offset, size_t size) { return file.Read(offset, size); });
  unsigned crc = 0;
  for (uint64_t at = *frame; at < end; at += kFlacBlockBytes) {
    const std::string block =
        file.Read(at, static_cast<size_t>(std::min<uint64_t>(kFlacBlockBytes, end - at)));
    for (const char byte : block) {
      crc = (crc << 8 ^ table[crc >> 8 ^ static_cast<unsigned char>(byte)]) & 0xFFFF;
    }
  }
  return crc != 0;
}

}  // namespace runnel
