#include "frontend/media/tags.h"

#include <algorithm>

#include "frontend/media/container.h"

namespace runnel {
namespace {

constexpr uint64_t kId3v1Bytes = 128;
constexpr std::string_view kId3v1 = "TAG";
constexpr std::string_view kApe = "APETAGEX";
constexpr size_t kApeHeadBytes = 32;  // of a header and of a footer
constexpr size_t kApeFlagsAt = 20;
constexpr uint64_t kApeHasHeader = uint64_t{1} << 31;
constexpr uint64_t kApeIsHeader = uint64_t{1} << 29;

// Of a header or a footer: without the header.
uint64_t ApeBodyBytes(std::string_view head) { return LittleEndian(head.substr(12, 4)); }
uint64_t ApeFlags(std::string_view head) { return LittleEndian(head.substr(kApeFlagsAt, 4)); }

bool EndsWith(std::string_view bytes, std::string_view end) {
  return bytes.size() >= end.size() && bytes.substr(bytes.size() - end.size()) == end;
}

// `last`: the bytes before the end of the tag. The functions return 0 where there is no such tag.

uint64_t ApeBytesBefore(std::string_view last) {
  if (last.size() < kApeHeadBytes) return 0;
  const std::string_view footer = last.substr(last.size() - kApeHeadBytes);
  if (footer.substr(0, kApe.size()) != kApe) return 0;
  const bool has_header = (ApeFlags(footer) & kApeHasHeader) != 0;
  return std::max<uint64_t>(ApeBodyBytes(footer), kApeHeadBytes) + (has_header ? kApeHeadBytes : 0);
}

// Version 4 may have a copy of its header at its end.
uint64_t Id3v2BytesBefore(std::string_view last) {
  if (last.size() < kId3HeaderBytes) return 0;
  std::string footer(last.substr(last.size() - kId3HeaderBytes));
  if (footer.compare(0, 3, "3DI") != 0) return 0;
  footer.replace(0, 3, "ID3");
  return Id3TagBytes(footer);
}

uint64_t LyricsBytesBefore(std::string_view last) {
  constexpr std::string_view kBegin = "LYRICSBEGIN", kOldEnd = "LYRICSEND", kEnd = "LYRICS200";
  constexpr size_t kSizeDigits = 6;
  if (EndsWith(last, kOldEnd)) {
    const size_t begin = last.rfind(kBegin);
    return begin == std::string_view::npos ? 0 : last.size() - begin;
  }
  if (!EndsWith(last, kEnd) || last.size() < kEnd.size() + kSizeDigits) return 0;
  uint64_t size = 0;
  for (const char digit : last.substr(last.size() - kEnd.size() - kSizeDigits, kSizeDigits)) {
    if (digit < '0' || digit > '9') return 0;
    size = size * 10 + static_cast<uint64_t>(digit - '0');
  }
  return size + kSizeDigits + kEnd.size();
}

uint64_t Id3v1BytesBefore(std::string_view last) {
  if (last.size() < kId3v1Bytes) return 0;
  return last.substr(last.size() - kId3v1Bytes, kId3v1.size()) == kId3v1 ? kId3v1Bytes : 0;
}

}  // namespace

uint64_t TagBytes(std::string_view begin) {
  if (begin.substr(0, kId3v1.size()) == kId3v1) return kId3v1Bytes;
  if (begin.substr(0, kApe.size()) == kApe && begin.size() >= kApeHeadBytes) {
    const bool is_header = (ApeFlags(begin) & kApeIsHeader) != 0;
    return is_header ? kApeHeadBytes + ApeBodyBytes(begin) : 0;
  }
  return begin.size() < kId3HeaderBytes ? 0 : Id3TagBytes(begin);
}

uint64_t TagsAtEnd(uint64_t size, const ReadFileBytes& read) {
  constexpr size_t kMostBytes = 5200;  // of Lyrics3 before version 2
  for (;;) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(size, kMostBytes));
    const std::string last = read(size - count, count);
    if (last.size() < count) return size;
    uint64_t tag_bytes = 0;
    for (const auto bytes_before :
         {Id3v1BytesBefore, ApeBytesBefore, Id3v2BytesBefore, LyricsBytesBefore}) {
      if (tag_bytes == 0) tag_bytes = bytes_before(last);
    }
    if (tag_bytes == 0 || tag_bytes > size) return size;
    size -= tag_bytes;
  }
}

bool AreTags(std::string_view bytes) {
  // First those that are told by their beginning, then those that are told by their end.
  const auto read = [&bytes](uint64_t offset, size_t size) {
    return std::string(bytes.substr(static_cast<size_t>(offset), size));
  };
  while (!bytes.empty()) {
    const uint64_t size = TagBytes(bytes);
    if (size == 0 || size > bytes.size()) break;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  if (TagsAtEnd(bytes.size(), read) == 0) return true;
  // The tag at the end, of the next recording, may be told by its beginning.
  const size_t last = bytes.rfind("ID3");
  if (last == std::string_view::npos || TagBytes(bytes.substr(last)) != bytes.size() - last) {
    return false;
  }
  return TagsAtEnd(last, read) == 0;
}

}  // namespace runnel
