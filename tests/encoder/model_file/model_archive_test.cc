// Files that are no model archives, or damaged ones, end in one line that says so.
#include "encoder/model_file/model_archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zip_writer.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::ReadBytes;
using testing::TemporaryFolder;
using testing::TinyModelPath;
using testing::WriteArchive;
using testing::WriteBytes;

::testing::AssertionResult Equal(const Tensor& a, const Tensor& b) {
  if (a.type() == b.type() && a.shape() == b.shape() &&
      std::memcmp(a.data(), b.data(), static_cast<size_t>(a.num_bytes())) == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "another tensor";
}

// The message for a file, which must start with its path; the rest is returned.
std::string ReadError(const std::string& path) {
  const std::string message = ErrorMessage<std::runtime_error>([&] { ReadModelArchive(path); });
  EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
  return message.size() < path.size() + 2 ? message : message.substr(path.size() + 2);
}

// The same for a file of these bytes.
std::string ReadErrorOfBytes(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.File("model.pt");
  WriteBytes(path, bytes);
  return ReadError(path);
}

TEST(ModelArchiveTest, ReadsTensorsAndTexts) {
  const ModelArchive archive = ReadModelArchive(TinyModelPath());
  EXPECT_EQ(archive.path, TinyModelPath());
  EXPECT_TRUE(Contains(archive.config_json, "\"runnel-model\""));
  EXPECT_EQ(archive.units_text, "<blank> 0\n\u2581 1\na 2\nb 3\nc 4\nd 5\n\u00e9 6\n");
  EXPECT_EQ(archive.tensors.size(), 86U);
  EXPECT_EQ(archive.tensors.at("encoder.global_cmvn.mean").shape(), (Shape{20}));
  EXPECT_EQ(archive.tensors.at("ctc.ctc_lo.weight").shape(), (Shape{7, 16}));
}

TEST(ModelArchiveTest, ArchiveOfTensorsAloneIsEnough) {
  const TemporaryFolder folder;
  const Tensor weight(Shape{2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const Tensor bias(Shape{3}, std::vector<float>{6, 7, 8});
  WriteArchive(folder.File("m.pt"), {{"a.0.weight", weight}, {"a.0.bias", bias}},
               {{"runnel.json", "{}"}, {"units.txt", "u"}});
  const ModelArchive archive = ReadModelArchive(folder.File("m.pt"));
  EXPECT_EQ(archive.config_json, "{}");
  EXPECT_EQ(archive.units_text, "u");
  ASSERT_EQ(archive.tensors.size(), 2U);
  EXPECT_TRUE(Equal(archive.tensors.at("a.0.weight"), weight));
  EXPECT_TRUE(Equal(archive.tensors.at("a.0.bias"), bias));
}

TEST(ModelArchiveTest, MissingFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadError(folder.File("none.pt")),
            "no such file, expected a model file that runnel convert wrote");
  EXPECT_EQ(ReadError(folder.File("no/such/folder/m.pt")),
            "no such file, expected a model file that runnel convert wrote");
}

TEST(ModelArchiveTest, Directory) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.File("d.pt"));
  const std::string path = folder.File("d.pt");
  const auto expect = [&](const std::string& family) {
    EXPECT_EQ(ReadError(path),
              "is a directory, expected a model file; convert it first: runnel "
              "convert " +
                  family + " " + path + " --output=model.pt");
  };
  expect("wenet|nemo|espnet|icefall");
  const std::pair<const char*, const char*> kinds[] = {{"config.yaml", "espnet"},
                                                       {"pretrained.pt", "icefall"},
                                                       {"state_dict.pt", "nemo"},
                                                       {"model_config.yaml", "nemo"},
                                                       {"train.yaml", "wenet"}};
  for (const auto& [file, family] : kinds) {
    WriteBytes(path + "/" + file, "");
    expect(family);
  }
}

TEST(ModelArchiveTest, NoFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.File("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.File("pipe"), std::string("/dev/null")}) {
    EXPECT_EQ(ReadError(path), "is a pipe or a device, expected a model file");
  }
  const std::string long_name = folder.File(std::string(300, 'x'));
  EXPECT_EQ(ReadError(long_name), "cannot open: File name too long");
}

TEST(ModelArchiveTest, NotAnArchive) {
  EXPECT_EQ(ReadErrorOfBytes(""), "is empty, expected a model file");
  for (const std::string& bytes :
       {std::string("P"), std::string("RIFF....WAVE"), std::string(1000, '\0'),
        std::string("{\"format\": \"runnel-model\"}\n")}) {
    EXPECT_EQ(ReadErrorOfBytes(bytes),
              "is not a model file, expected one that runnel convert wrote");
  }
  EXPECT_EQ(ReadErrorOfBytes("PK"),
            "is truncated or damaged (2 bytes, no zip directory at their end), expected a whole "
            "model file");
  EXPECT_EQ(ReadErrorOfBytes("PK" + std::string(5000, 'K')),
            "is truncated or damaged (5002 bytes, no zip directory at their end), expected a whole "
            "model file");
}

// Files that people have before they convert them: the message is what to type.
TEST(ModelArchiveTest, ModelsThatMustBeConvertedFirst) {
  const TemporaryFolder folder;
  const std::string weights = folder.File("state_dict.pt");
  const std::string zip =
      testing::ZipBytes({{"archive/data.pkl", "\x80\x02}q\x01."}, {"archive/version", "3\n"}});
  for (const std::string& bytes : {zip, std::string("\x80\x02}q\x01.")}) {
    WriteBytes(weights, bytes);
    EXPECT_EQ(ReadError(weights),
              "is a checkpoint of weights, expected a model file; convert it "
              "first: runnel convert nemo " +
                  std::filesystem::path(weights).parent_path().string() + " --output=model.pt");
  }
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  for (const auto& [name, bytes] :
       {std::pair{"a.nemo", std::string("\x1f\x8b")}, std::pair{"b.bin", tar}}) {
    WriteBytes(folder.File(name), bytes);
    EXPECT_EQ(ReadError(folder.File(name)),
              "is a NeMo archive, expected a model file; convert it first: runnel convert nemo " +
                  folder.File(name) + " --output=model.pt");
  }
}

TEST(ModelArchiveTest, PlainZip) {
  // Python: zipfile.ZipFile("z.zip", "w") without any file; with writestr("a.txt", "hello").
  const std::string end_of_empty = std::string("PK\x05\x06", 4) + std::string(18, '\0');
  EXPECT_TRUE(Contains(ReadErrorOfBytes(end_of_empty), "is damaged or not a model file"));
  const std::string fields("\x14\0\0\0\0\0\0\0\x21\0\x86\xa6\x10\x36\x05\0\0\0\x05\0\0\0\x05\0",
                           24);
  const std::string local =
      std::string("PK\x03\x04", 4) + fields + std::string(2, '\0') + "a.txthello";
  const std::string central = std::string("PK\x01\x02\x14\x03", 6) + fields +
                              std::string(10, '\0') + std::string("\x80\x01\0\0\0\0", 6) + "a.txt";
  const std::string end = std::string("PK\x05\x06\0\0\0\0\x01\0\x01\0\x33\0\0\0\x28\0\0\0\0\0", 22);
  EXPECT_TRUE(Contains(ReadErrorOfBytes(local + central + end), "is damaged or not a model file"));
}

TEST(ModelArchiveTest, ForeignTorchScriptArchive) {
  const TemporaryFolder folder;
  const std::string path = folder.File("foreign.pt");
  const Tensor tensor(Shape{3}, std::vector<float>{0, 1, 2});
  WriteArchive(path, {{"weight", tensor}}, {});
  EXPECT_EQ(ReadError(path),
            "holds no runnel.json, expected an archive in Runnel's format (models/README.md)");
  WriteArchive(path, {{"weight", tensor}}, {{"runnel.json", "{}"}, {"words.txt", "a"}});
  EXPECT_EQ(ReadError(path),
            "holds no units.txt, expected an archive in Runnel's format (models/README.md)");
  WriteArchive(path, {}, {{"runnel.json", ""}, {"units.txt", "a"}});
  EXPECT_EQ(ReadError(path),
            "holds no runnel.json, expected an archive in Runnel's format (models/README.md)");
}

// The damage below is done to both kinds of zip: with 32-bit fields and TorchScript code, as
// models/reference exports it, and with 64-bit fields, as LibTorch writes it.
class DamagedArchiveTest : public ::testing::TestWithParam<bool> {
 protected:
  DamagedArchiveTest() : original_(ReadModelArchive(TinyModelPath())), path_(folder_.File("m.pt")) {
    if (GetParam()) {
      WriteArchive(path_, original_.tensors,
                   {{"runnel.json", original_.config_json}, {"units.txt", original_.units_text}});
    }
    whole_ = ReadBytes(GetParam() ? path_ : TinyModelPath());
  }

  const TemporaryFolder folder_;
  const ModelArchive original_;
  const std::string path_;
  std::string whole_;
};

INSTANTIATE_TEST_SUITE_P(Zips, DamagedArchiveTest, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Fields64" : "Fields32"; });

TEST_P(DamagedArchiveTest, TruncatedAtAnyLength) {
  // Every length near both ends, where a zip has its structure, and every 211th between.
  for (size_t length = 0; length < whole_.size();
       length += length < 150 || length + 150 > whole_.size() ? 1 : 211) {
    SCOPED_TRACE(::testing::Message() << length << " of " << whole_.size() << " bytes");
    WriteBytes(path_, whole_.substr(0, length));
    const std::string message = ReadError(path_);
    EXPECT_TRUE(Contains(message, ", expected ")) << message;
    if (length > 2) {
      EXPECT_TRUE(
          Contains(message, "is truncated or damaged (" + std::to_string(length) + " bytes"));
    }
    if (HasFailure()) return;
  }
}

TEST_P(DamagedArchiveTest, OneWrongByteInAFileIsFound) {
  const auto error_with_wrong_byte_in = [&](const std::string& content) {
    std::string bytes = whole_;
    const size_t at = bytes.find(content);
    EXPECT_NE(at, std::string::npos);
    bytes[at + content.size() / 2] ^= 1;
    WriteBytes(path_, bytes);
    return ReadError(path_);
  };
  for (const auto& [name, tensor] : original_.tensors) {
    EXPECT_TRUE(Contains(error_with_wrong_byte_in({static_cast<const char*>(tensor.data()),
                                                   static_cast<size_t>(tensor.num_bytes())}),
                         ": CRC error"))
        << name;
  }
  EXPECT_TRUE(
      Contains(error_with_wrong_byte_in(original_.config_json), "extra/runnel.json: CRC error"));
  EXPECT_TRUE(
      Contains(error_with_wrong_byte_in(original_.units_text), "extra/units.txt: CRC error"));
}

TEST_P(DamagedArchiveTest, FlippedBytesThrowOrDoNotMatter) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  int loaded = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", run " << run);
    std::string bytes = whole_;
    // Half of the flips go where the zip's directory lies, at the end.
    const size_t range = run % 2 == 0 ? bytes.size() : 8000;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[bytes.size() - 1 - random() % range] ^= static_cast<char>(1 + random() % 255);
    }
    WriteBytes(path_, bytes);
    try {
      const ModelArchive archive = ReadModelArchive(path_);
      ++loaded;
      EXPECT_EQ(archive.config_json, original_.config_json);
      EXPECT_EQ(archive.units_text, original_.units_text);
      EXPECT_EQ(archive.tensors.size(), original_.tensors.size());
      for (const auto& [name, tensor] : original_.tensors) {
        EXPECT_TRUE(Equal(archive.tensors.at(name), tensor)) << name;
      }
    } catch (const std::runtime_error& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find_first_of("\r\n"), std::string::npos) << message;
      EXPECT_TRUE(Contains(message, path_ + ": "));
    }
  }
  std::cout << loaded << " of " << kRuns << " damaged files load, seed " << kSeed << "\n";
}

TEST_P(DamagedArchiveTest, BytesAfterTheEnd) {
  for (const size_t extra : {1, 100, 70000}) {
    WriteBytes(path_, whole_ + std::string(extra, 'x'));
    EXPECT_TRUE(Contains(ReadError(path_), "is truncated or damaged (" +
                                               std::to_string(whole_.size() + extra) + " bytes, "));
  }
}

}  // namespace
}  // namespace runnel
