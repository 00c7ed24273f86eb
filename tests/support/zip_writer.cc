#include "tests/support/zip_writer.h"

#include <array>
#include <cstdint>

#include "tests/support/little_endian.h"

namespace runnel::testing {
namespace {

uint32_t Checksum(const std::string& data) {
  static const auto table = [] {
    std::array<uint32_t, 256> values{};
    for (uint32_t i = 0; i < values.size(); ++i) {
      values[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        values[i] = values[i] >> 1 ^ ((values[i] & 1) != 0 ? 0xedb88320 : 0);
      }
    }
    return values;
  }();
  uint32_t checksum = 0xffffffff;
  for (const char byte : data) {
    checksum = checksum >> 8 ^ table[(checksum ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~checksum;
}

constexpr uint64_t kInExtraField = 0xffffffff;
constexpr uint64_t kVersion = 45;  // the first with 64-bit fields

// What the header of an entry and the directory both say, up to the size of the extra fields.
std::string EntryFields(const std::string& name, const std::string& data, size_t extra_size) {
  constexpr uint64_t kFirstDay = 0x21;  // of 1980
  return LittleEndian(kVersion, 2) + LittleEndian(0, 2) + LittleEndian(0, 2) + LittleEndian(0, 2) +
         LittleEndian(kFirstDay, 2) + LittleEndian(Checksum(data), 4) +
         LittleEndian(kInExtraField, 4) + LittleEndian(kInExtraField, 4) +
         LittleEndian(name.size(), 2) + LittleEndian(extra_size, 2);
}

}  // namespace

std::string ZipBytes(const ZipEntries& entries) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, data] : entries) {
    const std::string sizes = LittleEndian(data.size(), 8) + LittleEndian(data.size(), 8);
    const std::string local = LittleEndian(1, 2) + LittleEndian(sizes.size(), 2) + sizes;
    const std::string central = LittleEndian(1, 2) + LittleEndian(sizes.size() + 8, 2) + sizes +
                                LittleEndian(bytes.size(), 8);
    directory += "PK\x01\x02" + LittleEndian(kVersion, 2) +
                 EntryFields(name, data, central.size()) + LittleEndian(0, 2) + LittleEndian(0, 2) +
                 LittleEndian(0, 2) + LittleEndian(0, 4) + LittleEndian(kInExtraField, 4) + name +
                 central;
    bytes += "PK\x03\x04" + EntryFields(name, data, local.size()) + name + local + data;
  }
  const std::string counts = LittleEndian(entries.size(), 8) + LittleEndian(entries.size(), 8);
  const std::string end = "PK\x06\x06" + LittleEndian(44, 8) + LittleEndian(kVersion, 2) +
                          LittleEndian(kVersion, 2) + LittleEndian(0, 4) + LittleEndian(0, 4) +
                          counts + LittleEndian(directory.size(), 8) +
                          LittleEndian(bytes.size(), 8);
  const std::string locator = "PK\x06\x07" + LittleEndian(0, 4) +
                              LittleEndian(bytes.size() + directory.size(), 8) + LittleEndian(1, 4);
  const std::string old_end = "PK\x05\x06" + LittleEndian(0, 2) + LittleEndian(0, 2) +
                              LittleEndian(0xffff, 2) + LittleEndian(0xffff, 2) +
                              LittleEndian(kInExtraField, 4) + LittleEndian(kInExtraField, 4) +
                              LittleEndian(0, 2);
  return bytes + directory + end + locator + old_end;
}

}  // namespace runnel::testing
