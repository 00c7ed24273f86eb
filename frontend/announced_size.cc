#include "frontend/announced_size.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/file_descriptor.h"

namespace runnel {
namespace {

// A damaged file may have any number of tiny chunks.
constexpr int kMaxChunks = 10000;
// In 32 bits, of writers that could not go back: SoX announces a little less than 2 GiB.
constexpr uint64_t kEndlessSize = 0x7f000000;

// The samples of a header.
struct Announced {
  uint64_t at = 0;  // of the first one, in the recording
  uint64_t size = 0;
};

// Reads parts of a recording. Numbers are 0 behind its end.
class Recording {
 public:
  Recording(int fd, off_t begin) : fd_(fd), begin_(begin) {}

  std::string Bytes(uint64_t offset, size_t size) const {
    if (offset > kFarthest) return "";
    return ReadAt(fd_, begin_ + static_cast<off_t>(offset), size);
  }
  uint64_t BigEndianAt(uint64_t offset, size_t size) const {
    return BigEndian(Bytes(offset, size));
  }
  uint64_t LittleEndianAt(uint64_t offset, size_t size) const {
    std::string bytes = Bytes(offset, size);
    std::reverse(bytes.begin(), bytes.end());
    return BigEndian(bytes);
  }
  uint64_t size() const {
    struct stat status = {};
    if (::fstat(fd_, &status) != 0) return 0;
    return static_cast<uint64_t>(std::max<off_t>(status.st_size - begin_, 0));
  }

 private:
  static constexpr uint64_t kFarthest = uint64_t{1} << 60;
  const int fd_;
  const off_t begin_;
};

using Found = std::optional<Announced>;

// The chunk "SSND" has the offset of the samples and the size of a block before them.
Found InAiff(const Recording& file) {
  constexpr size_t kHeaderBytes = 8;
  uint64_t at = 12;
  for (int i = 0; i < kMaxChunks; ++i) {
    const std::string id = file.Bytes(at, 4);
    if (id.size() < 4) return std::nullopt;
    const uint64_t size = file.BigEndianAt(at + 4, 4);
    at += kHeaderBytes;
    if (id == "SSND") {
      const uint64_t before = kHeaderBytes + file.BigEndianAt(at, 4);
      if (size <= before || size >= kEndlessSize) return std::nullopt;
      return Announced{at + before, size - before};
    }
    at += size + size % 2;
  }
  return std::nullopt;
}

Found InAu(const Recording& file) {
  const bool is_big_endian = file.Bytes(0, 1) == ".";
  const auto number = [&](uint64_t at) {
    return is_big_endian ? file.BigEndianAt(at, 4) : file.LittleEndianAt(at, 4);
  };
  if (number(8) >= kEndlessSize) return std::nullopt;
  return Announced{number(4), number(8)};
}

// Chunks have names of 16 bytes, of which the first four are those of WAV. Their sizes include the
// header. They begin at multiples of 8.
Found InW64(const Recording& file) {
  constexpr uint64_t kHeaderBytes = 24;
  uint64_t at = 40;
  for (int i = 0; i < kMaxChunks; ++i) {
    const uint64_t size = file.LittleEndianAt(at + 16, 8);
    if (size < kHeaderBytes || size >= uint64_t{1} << 60) return std::nullopt;
    if (file.Bytes(at, 4) == "data") return Announced{at + kHeaderBytes, size - kHeaderBytes};
    at += (size + 7) / 8 * 8;
  }
  return std::nullopt;
}

// Blocks begin with a byte that is their kind, and a size in 3 bytes. Those of samples also have
// their format before the samples.
Found InVoc(const Recording& file) {
  constexpr uint64_t kSound = 1, kNewSound = 9, kHeaderBytes = 4;
  uint64_t at = file.LittleEndianAt(20, 2);
  for (int i = 0; i < kMaxChunks; ++i) {
    const uint64_t kind = file.LittleEndianAt(at, 1);
    const uint64_t size = file.LittleEndianAt(at + 1, 3);
    if (kind == 0) return std::nullopt;  // the end
    at += kHeaderBytes;
    if (kind == kSound || kind == kNewSound) {
      const uint64_t format_bytes = kind == kSound ? 2 : 12;
      if (size <= format_bytes) return std::nullopt;
      return Announced{at + format_bytes, size - format_bytes};
    }
    at += size;
  }
  return std::nullopt;
}

// The value of a line "NAME -i VALUE", or "NAME -s1 VALUE" as of a text; 0: there is none.
uint64_t NistField(std::string_view header, std::string_view name) {
  const size_t line = header.find("\n" + std::string(name) + " -");
  if (line == std::string_view::npos) return 0;
  const size_t type = line + name.size() + 2;
  const size_t at = std::min(header.find(' ', type), header.size() - 1) + 1;
  uint64_t value = 0;
  std::from_chars(header.data() + at, header.data() + header.size(), value);
  return value;
}

// The second line is the size of the header, in lines of text.
Found InNist(const Recording& file) {
  constexpr uint64_t kMost = uint64_t{1} << 20;
  const std::string second_line = file.Bytes(8, 7);
  const size_t digits = second_line.find_first_not_of(' ');
  uint64_t header_bytes = 0;
  if (digits == std::string::npos) return std::nullopt;
  std::from_chars(second_line.data() + digits, second_line.data() + second_line.size(),
                  header_bytes);
  if (header_bytes > kMost) return std::nullopt;
  const std::string header = file.Bytes(0, static_cast<size_t>(header_bytes));
  uint64_t size = 1;
  for (const char* name : {"sample_count", "channel_count", "sample_n_bytes"}) {
    const uint64_t factor = NistField(header, name);
    if (factor >= uint64_t{1} << 40 || (factor > 0 && size > (uint64_t{1} << 60) / factor)) {
      return std::nullopt;
    }
    size *= factor;
  }
  return Announced{header_bytes, size};
}

struct Kind {
  const Container* container;
  Found (*find)(const Recording& file);
};
constexpr std::array<Kind, 5> kKinds = {
    {{&kAiff, InAiff}, {&kAu, InAu}, {&kW64, InW64}, {&kVoc, InVoc}, {&kNist, InNist}}};

}  // namespace

std::optional<DataSize> ReadDataSize(const Container& container, int fd, off_t begin) {
  if (&container == &kWav) return ReadWavDataSize(fd, begin);
  const auto* const kind = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const Kind& each) { return each.container == &container; });
  if (kind == kKinds.end()) return std::nullopt;
  const Recording file(fd, begin);
  const Found found = kind->find(file);
  if (!found.has_value() || found->size == 0) return std::nullopt;
  const uint64_t behind = file.size() - std::min(file.size(), found->at);
  return DataSize{found->size, std::min(found->size, behind)};
}

}  // namespace runnel
