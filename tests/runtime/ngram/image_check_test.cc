// No bytes of a compiled model may do more than throw.
#include "runtime/ngram/image_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include "runtime/language_model.h"
#include "runtime/ngram/image_format.h"
#include "tests/runtime/ngram/arpa_test_support.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;

std::string SmallImage(unsigned seed) {
  std::mt19937 random(seed);
  const TextModel text = RandomTextModel(&random, {"<s>", "</s>", "a", "ab", "b", "<unk>"},
                                         1 + static_cast<int>(seed % 4), 12);
  const MappedBytes image = CompileText(text.Arpa());
  return {image.data(), image.data() + image.size()};
}

void FixChecksum(std::string* bytes) {
  const Checksum checksum =
      ComputeChecksum(reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size());
  std::memcpy(bytes->data() + offsetof(ImageHeader, checksum), checksum.data(), checksum.size());
}

// In memory of exactly this size, so that the address sanitizer finds what reads beyond.
MappedBytes Copy(const std::string& bytes) {
  MappedBytes image(bytes.size());
  std::memcpy(image.mutable_data(), bytes.data(), bytes.size());
  return image;
}

void LookUp(const NgramModel& model) {
  std::mt19937 random(1);
  NgramModel::Context context = model.Start();
  for (int i = 0; i < 200; ++i) {
    const uint32_t word = random() % (model.num_words() + 1);
    const double log10_prob = model.Log10Prob(
        context, word == model.num_words() ? NgramModel::kUnknownWord : word, &context);
    EXPECT_LE(log10_prob, std::max(model.most_log10_prob(), 0.0) + 1e-3);
  }
  for (const char* word : {"", "a", "ab", "abc", "<s>", "</s>", "<unk>", "zz"}) {
    const uint32_t id = model.WordId(word);
    EXPECT_TRUE(id == NgramModel::kUnknownWord || id < model.num_words());
  }
}

// The error about an image: some are read from a file, the others, which is faster, from memory.
std::string ErrorOf(const std::string& bytes, const std::string& path, bool from_file) {
  if (from_file) testing::WriteBytes(path, bytes);
  std::string error = testing::ErrorMessage<std::runtime_error>([&] {
    if (from_file) {
      LanguageModel::Load(path);
    } else {
      NgramModel(Copy(bytes), path);
    }
  });
  EXPECT_TRUE(Contains(error, path + ":"));
  return error;
}

TEST(ImageCheckTest, EveryTruncationIsNamed) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("lm.bin");
  const std::string bytes = SmallImage(3);
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string error = ErrorOf(bytes.substr(0, size), path, size < 10 || size % 100 == 0);
    EXPECT_TRUE(Contains(error, "expected"));
  }
  testing::WriteBytes(path, bytes + "a");
  const std::string error =
      testing::ErrorMessage<std::runtime_error>([&] { LanguageModel::Load(path); });
  EXPECT_EQ(error, path + ": is truncated or damaged (" + std::to_string(bytes.size() + 1) +
                       " bytes); expected " + std::to_string(bytes.size()) + " bytes");
}

TEST(ImageCheckTest, EveryChangedByteIsFound) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("lm.bin");
  std::mt19937 random(1);
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::string bytes = SmallImage(seed);
    for (size_t i = 0; i < bytes.size(); ++i) {
      SCOPED_TRACE("byte " + std::to_string(i) + " of the model of seed " + std::to_string(seed));
      const char original = bytes[i];
      bytes[i] = static_cast<char>(original ^ (1 << random() % 8));
      ErrorOf(bytes, path, i < sizeof(ImageHeader::magic) || i % 100 == 0);
      bytes[i] = original;
    }
  }
}

TEST(ImageCheckTest, OtherVersions) {
  std::string bytes = SmallImage(2);
  bytes[sizeof(ImageHeader::magic)] = 2;
  EXPECT_EQ(testing::ErrorMessage<std::runtime_error>([&] { NgramModel(Copy(bytes), "lm.bin"); }),
            "lm.bin: is a compiled model of format version 2; expected version 1: compile the ARPA "
            "text again");
}

// The structure alone stops, or lookups stay within the image.
TEST(ImageCheckTest, ChangesWithARightChecksum) {
  int num_refused = 0;
  int num_accepted = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const std::string image = SmallImage(seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", change " + std::to_string(i));
      std::string bytes = image;
      for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
        char& byte = bytes[kChecksumEnd + random() % (bytes.size() - kChecksumEnd)];
        byte = random() % 2 == 0 ? static_cast<char>(random())
                                 : static_cast<char>(byte ^ (1 << random() % 8));
      }
      FixChecksum(&bytes);
      try {
        const NgramModel model(Copy(bytes), "lm.bin");
        LookUp(model);
        ++num_accepted;
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(Contains(error.what(), "lm.bin: "));
        ++num_refused;
      }
    }
  }
  EXPECT_GT(num_refused, 1000);
  EXPECT_GT(num_accepted, 1000);
}

TEST(ImageCheckTest, WrongStructures) {
  const std::string image = SmallImage(3);  // of order 4
  ImageHeader header = {};
  std::memcpy(&header, image.data(), sizeof(header));
  const ImageLayout layout(header);
  const auto error_with = [&](uint64_t offset, auto value) {
    std::string bytes = image;
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    FixChecksum(&bytes);
    return testing::ErrorMessage<std::runtime_error>([&] { NgramModel(Copy(bytes), "lm.bin"); });
  };
  const uint32_t large = 1000000;
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, order), uint32_t{9}), "order"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, order), uint32_t{0}), "order"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, num_entries), large), "counts"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, num_entries), uint32_t{0}), "no words"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, num_vocabulary_nodes), kNoIndex), "large"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, start_word), large), "special word"));
  EXPECT_TRUE(Contains(error_with(offsetof(ImageHeader, num_ngrams), uint32_t{1}), "number of"));
  EXPECT_TRUE(Contains(error_with(layout.vocabulary, large), "nodes"));
  EXPECT_TRUE(
      Contains(error_with(layout.vocabulary + sizeof(VocabularyNode), uint32_t{0}), "range"));
  EXPECT_TRUE(
      Contains(error_with(layout.vocabulary + offsetof(VocabularyNode, word), large), "word"));
  EXPECT_TRUE(
      Contains(error_with(layout.vocabulary + offsetof(VocabularyNode, best_log10), std::nanf("")),
               "range"));
  EXPECT_TRUE(Contains(error_with(layout.labels + 1, uint8_t{255}), "sorted"));
  EXPECT_TRUE(Contains(error_with(layout.levels[0], uint32_t{1}), "numbered"));
  EXPECT_TRUE(
      Contains(error_with(layout.levels[0] + offsetof(NgramEntry, log10_prob), 0.5F), "range"));
  EXPECT_TRUE(Contains(
      error_with(layout.levels[0] + offsetof(NgramEntry, log10_backoff), HUGE_VALF), "range"));
  EXPECT_TRUE(Contains(
      error_with(layout.levels[0] + offsetof(NgramEntry, first_child), uint32_t{1}), "trie"));
  EXPECT_TRUE(Contains(
      error_with(layout.levels[1] + sizeof(NgramEntry) + offsetof(NgramEntry, first_child), large),
      "range"));
  EXPECT_TRUE(Contains(error_with(layout.levels[3], large), "highest level"));
  EXPECT_TRUE(Contains(error_with(layout.levels[3] + offsetof(LeafEntry, log10_prob), kPlaceholder),
                       "highest level"));
}

}  // namespace
}  // namespace runnel
