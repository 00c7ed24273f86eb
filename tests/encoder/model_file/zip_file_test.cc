// Zip files that claim more than they hold, and damage wherever it is.
#include "encoder/model_file/zip_file.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/little_endian.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zip_writer.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::LittleEndian;

// Of the directory's fields of an entry.
constexpr size_t kAttributesAt = 38;
constexpr size_t kDirectoryEntrySize = 46;

class ZipFileTest : public ::testing::Test {
 protected:
  ZipFile Open(const std::string& bytes) {
    testing::WriteBytes(folder_.File("a.zip"), bytes);
    return ZipFile(folder_.File("a.zip"));
  }
  std::string OpenError(const std::string& bytes) {
    return ErrorMessage<std::runtime_error>([&] { Open(bytes); });
  }

  const testing::TemporaryFolder folder_;
  const std::string bytes_ = testing::ZipBytes({{"a/one", "first"}, {"a/two", "second"}});
};

TEST_F(ZipFileTest, Reads) {
  ZipFile zip = Open(bytes_);
  ASSERT_EQ(zip.num_entries(), 2U);
  EXPECT_EQ(zip.Entry(0).name, "a/one");
  EXPECT_EQ(zip.Entry(1).size, 6U);
  EXPECT_FALSE(zip.Entry(1).compressed);
  EXPECT_EQ(zip.ReadText(0), "first");
  std::string second(6, '\0');
  zip.ReadInto(1, second.data(), second.size());
  EXPECT_EQ(second, "second");
  zip.CheckUnreadEntries();
}

TEST_F(ZipFileTest, FindsDamageInWhatIsReadAndInWhatIsNot) {
  std::string damaged = bytes_;
  ++damaged[damaged.find("second")];
  const std::string crc_error = "entry a/two: CRC error";
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Open(damaged).ReadText(1); }), crc_error);
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Open(damaged).CheckUnreadEntries(); }),
            crc_error);
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] {
              std::string second(6, '\0');
              Open(damaged).ReadInto(1, second.data(), second.size());
            }),
            crc_error);
  EXPECT_EQ(Open(damaged).ReadText(0), "first");
}

TEST_F(ZipFileTest, SizesThatDoNotFit) {
  std::string memory(10, '\0');
  for (const size_t size : {0, 4, 6}) {
    EXPECT_EQ(
        ErrorMessage<std::runtime_error>([&] { Open(bytes_).ReadInto(0, memory.data(), size); }),
        "entry a/one has 5 bytes, expected " + std::to_string(size));
  }
  // The 64-bit fields of both headers: the expanded size, then the size in the file.
  for (const auto& [size, stored_size] : {std::pair{uint64_t{1} << 50, 5}, {5, 4}}) {
    std::string changed = bytes_;
    const std::string fields = LittleEndian(5, 8) + LittleEndian(5, 8);
    const std::string other =
        LittleEndian(size, 8) + LittleEndian(static_cast<uint64_t>(stored_size), 8);
    for (size_t at = 0; (at = changed.find(fields, at)) != std::string::npos; at += other.size()) {
      changed.replace(at, other.size(), other);
    }
    EXPECT_EQ(OpenError(changed), "entry a/one has two sizes");
  }
}

// libzip does not compare the size of a compressed entry with its data.
TEST_F(ZipFileTest, CompressedTextOfAnotherSize) {
  // Five bytes as they are, in a block of deflate (RFC 1951, 3.2.4).
  const std::string block = std::string("\x01\x05\x00\xfa\xff", 5) + "first";
  std::string compressed = testing::ZipBytes({{"a/one", block}});
  const size_t directory = compressed.find("PK\x01\x02");
  for (const size_t fields : {size_t{6}, directory + 8}) {
    compressed[fields + 2] = 8;                               // deflate
    compressed.replace(fields + 8, 4, bytes_.substr(14, 4));  // the checksum of "first"
  }
  const auto with_size = [&](uint64_t size) {
    std::string changed = compressed;
    const std::string old_sizes = LittleEndian(10, 8) + LittleEndian(10, 8);
    const std::string sizes = LittleEndian(size, 8) + LittleEndian(10, 8);
    for (size_t at = 0; (at = changed.find(old_sizes, at)) != std::string::npos;) {
      changed.replace(at, sizes.size(), sizes);
    }
    return changed;
  };
  EXPECT_EQ(Open(with_size(5)).ReadText(0), "first");
  std::string first(5, '\0');
  Open(with_size(5)).ReadInto(0, first.data(), first.size());
  EXPECT_EQ(first, "first");
  for (const uint64_t size : {0, 4, 6}) {
    EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Open(with_size(size)).ReadText(0); }),
              "entry a/one has two sizes");
  }
  for (const uint64_t size : {4, 6}) {
    std::string memory(size, '\0');
    EXPECT_NE(ErrorMessage<std::runtime_error>(
                  [&] { Open(with_size(size)).ReadInto(0, memory.data(), size); }),
              "");
  }
  // A small file asks for no more than a little memory.
  const uint64_t most = 16 * compressed.size() + (uint64_t{1} << 24);
  EXPECT_NO_THROW(Open(with_size(most)));
  EXPECT_TRUE(Contains(OpenError(with_size(most + 1)), "entry a/one expands to "));
}

// As a file manager packs a folder.
TEST_F(ZipFileTest, FoldersAndFilesOfFileManagersAreLeftOut) {
  const ZipFile zip = Open(testing::ZipBytes({{"__MACOSX/a/._one", "x"},
                                              {"a/", ""},
                                              {"a/.DS_Store", "x"},
                                              {"a/one", "first"},
                                              {"a/data/", ""},
                                              {"a/._one", "x"},
                                              {"a/data/two", "second"}}));
  EXPECT_EQ(zip.EntryNames(), (std::vector<std::string>{"a/one", "a/data/two"}));
  EXPECT_EQ(zip.num_entries(), 2U);
  EXPECT_EQ(OpenError(testing::ZipBytes({{"a/", "data"}})), "entry a/ is marked as a folder");
}

TEST_F(ZipFileTest, Folders) {
  std::string changed = bytes_;
  const size_t directory = changed.find("PK\x01\x02");
  changed[directory + kAttributesAt] = 0x10;
  ASSERT_EQ(changed.substr(directory + kDirectoryEntrySize, 5), "a/one");
  EXPECT_EQ(OpenError(changed), "entry a/one is marked as a folder");
}

// An entry in an entry: the bytes of a small file would count many times.
TEST_F(ZipFileTest, EntriesThatShareBytes) {
  // A zip file that holds another's entry: an entry of the outer directory leads into the data.
  const std::string inner = testing::ZipBytes({{"a/two", std::string(1000, 'x')}});
  const std::string inner_entry = inner.substr(0, inner.find("PK\x01\x02"));
  const std::string outer = testing::ZipBytes({{"a/one", inner_entry}});
  const size_t inner_at = outer.find(inner_entry);
  const size_t directory_at = outer.find("PK\x01\x02");
  const size_t end_at = outer.find("PK\x06\x06");
  std::string inner_directory =
      inner.substr(inner_entry.size(), inner.find("PK\x06\x06") - inner_entry.size());
  inner_directory.replace(inner_directory.size() - 8, 8, LittleEndian(inner_at, 8));
  const std::string directory = outer.substr(directory_at, end_at - directory_at) + inner_directory;
  std::string end = outer.substr(end_at);
  end.replace(24, 16, LittleEndian(2, 8) + LittleEndian(2, 8));
  end.replace(40, 8, LittleEndian(directory.size(), 8));
  const size_t locator = end.find("PK\x06\x07");
  end.replace(locator + 8, 8, LittleEndian(directory_at + directory.size(), 8));
  EXPECT_TRUE(Contains(OpenError(outer.substr(0, directory_at) + directory + end),
                       "entry a/two has more bytes than the file has left"));
}

}  // namespace
}  // namespace runnel
