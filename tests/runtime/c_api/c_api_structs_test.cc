// Structs of the C interface between programs and libraries of different ages: options and results.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/c_api/sized_struct.h"
#include "tests/support/error_message.h"

namespace {

// A struct that has grown once: a program may have been compiled when it had no `second`.
struct Grown {
  size_t struct_size;
  int64_t first;
  double second;
};
constexpr size_t kOldSize = offsetof(Grown, second);
constexpr Grown kDefaults = {sizeof(Grown), 1, 2.5};

}  // namespace

template <>
inline constexpr std::array<size_t, 2> runnel::c_api::kSizesOf<Grown> = {kOldSize, sizeof(Grown)};

namespace runnel::c_api {
namespace {

using runnel::testing::Contains;
using runnel::testing::ErrorMessage;

TEST(SizedStructTest, NullTakesTheDefaults) {
  const Grown read = Read<Grown>(nullptr, kDefaults, "grown");
  EXPECT_EQ(read.first, 1);
  EXPECT_EQ(read.second, 2.5);
}

TEST(SizedStructTest, AnOldProgramsStructTakesTheDefaultsOfNewFields) {
  // As large as the old struct and no larger, so that a sanitizer reports reads beyond it.
  std::vector<char> old_struct(kOldSize);
  Initialise(kDefaults, old_struct.data(), kOldSize);
  const int64_t chosen = 7;
  std::memcpy(old_struct.data() + offsetof(Grown, first), &chosen, sizeof chosen);
  const Grown read = Read(reinterpret_cast<const Grown*>(old_struct.data()), kDefaults, "grown");
  EXPECT_EQ(read.struct_size, sizeof(Grown));
  EXPECT_EQ(read.first, 7);
  EXPECT_EQ(read.second, 2.5);
}

TEST(SizedStructTest, AnOldProgramGetsWhatItHasFieldsFor) {
  std::vector<char> old_struct(kOldSize);
  Initialise(kDefaults, old_struct.data(), kOldSize);
  Write(Grown{sizeof(Grown), 9, 9.5}, reinterpret_cast<Grown*>(old_struct.data()), "grown");
  size_t struct_size = 0;
  int64_t first = 0;
  std::memcpy(&struct_size, old_struct.data(), sizeof struct_size);
  std::memcpy(&first, old_struct.data() + offsetof(Grown, first), sizeof first);
  EXPECT_EQ(struct_size, kOldSize);
  EXPECT_EQ(first, 9);
}

TEST(SizedStructTest, ANewProgramsStructIsInitialisedAndRefused) {
  struct Newer {
    Grown known;
    int64_t unknown;
  };
  Newer newer;
  std::memset(static_cast<void*>(&newer), 0x55, sizeof newer);
  Initialise(kDefaults, &newer, sizeof newer);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_EQ(newer.known.second, 2.5);
  EXPECT_EQ(newer.unknown, 0);
  const std::string message =
      ErrorMessage<std::invalid_argument>([&] { Read(&newer.known, kDefaults, "grown"); });
  EXPECT_EQ(message,
            "grown.struct_size is 32, expected 16 or 24: the program's header is newer than the "
            "library");
}

TEST(SizedStructTest, SizesOfNoVersionAreRefused) {
  for (size_t size = 0; size < 64; ++size) {
    if (size == kOldSize || size == sizeof(Grown)) continue;
    Grown given = kDefaults;
    given.struct_size = size;
    for (const std::string& message :
         {ErrorMessage<std::invalid_argument>([&] { Read(&given, kDefaults, "grown"); }),
          ErrorMessage<std::invalid_argument>([&] { Write(kDefaults, &given, "grown"); })}) {
      EXPECT_TRUE(Contains(message, "grown.struct_size is " + std::to_string(size)));
    }
    EXPECT_EQ(given.struct_size, size);
  }
}

TEST(SizedStructTest, NothingIsWrittenWhereNotEvenTheSizeFits) {
  std::vector<char> small(4, 'x');
  Initialise(kDefaults, small.data(), small.size());
  EXPECT_EQ(small, std::vector<char>(4, 'x'));
  Initialise(kDefaults, nullptr, sizeof(Grown));
}

// The layouts that programs were compiled with: add to them, never change them after a release.
TEST(CApiLayoutTest, OfTheFirstReleaseStays) {
  static_assert(sizeof(void*) == 8, "the offsets below are those of 64 bits");
  EXPECT_EQ(offsetof(runnel_model_options, precision), 8U);
  EXPECT_EQ(offsetof(runnel_model_options, running_normalization), 24U);
  EXPECT_EQ(offsetof(runnel_model_options, units_file), 32U);
  EXPECT_EQ(offsetof(runnel_model_options, step_threads), 40U);
  EXPECT_EQ(kSizesOf<runnel_model_options>.front(), 40U);
  EXPECT_EQ(offsetof(runnel_recognizer_options, num_threads), 8U);
  EXPECT_EQ(offsetof(runnel_recognizer_options, max_buffered_s), 24U);
  EXPECT_EQ(offsetof(runnel_recognizer_options, user_data), 40U);
  EXPECT_EQ(kSizesOf<runnel_recognizer_options>.front(), 48U);
  EXPECT_EQ(offsetof(runnel_stream_options, sample_rate_hz), 24U);
  EXPECT_EQ(offsetof(runnel_stream_options, word_list), 40U);
  EXPECT_EQ(offsetof(runnel_stream_options, hotwords), 48U);
  EXPECT_EQ(offsetof(runnel_stream_options, language_model), 56U);
  EXPECT_EQ(offsetof(runnel_stream_options, language_model_level), 64U);
  EXPECT_EQ(offsetof(runnel_stream_options, language_model_bonus), 80U);
  EXPECT_EQ(offsetof(runnel_stream_options, nbest), 88U);
  EXPECT_EQ(offsetof(runnel_stream_options, endpointing), 92U);
  EXPECT_EQ(offsetof(runnel_stream_options, skip_silence), 100U);
  EXPECT_EQ(offsetof(runnel_stream_options, endpoint_silence_s), 104U);
  EXPECT_EQ(offsetof(runnel_stream_options, endpoint_blank_probability), 128U);
  EXPECT_EQ(offsetof(runnel_stream_options, early_text_interval), 136U);
  EXPECT_EQ(offsetof(runnel_stream_options, user_data), 160U);
  EXPECT_EQ(offsetof(runnel_stream_options, head), 168U);
  EXPECT_EQ(offsetof(runnel_stream_options, ctc_weight), 176U);
  EXPECT_EQ(offsetof(runnel_stream_options, first_pass_weight), 192U);
  EXPECT_EQ(offsetof(runnel_stream_options, language), 208U);
  EXPECT_EQ(kSizesOf<runnel_stream_options>.front(), 216U);
  EXPECT_EQ(offsetof(runnel_restore_options, language_model), 16U);
  EXPECT_EQ(offsetof(runnel_restore_options, nbest), 24U);
  EXPECT_EQ(offsetof(runnel_restore_options, user_data), 40U);
  EXPECT_EQ(kSizesOf<runnel_restore_options>.front(), 48U);
  EXPECT_EQ(offsetof(runnel_batch_report, chunk_ms), 24U);
  EXPECT_EQ(offsetof(runnel_batch_report, audio_s), 40U);
  EXPECT_EQ(offsetof(runnel_recognizer_status, audio_s), 40U);
  EXPECT_EQ(offsetof(runnel_recognizer_status, chunk_ms_p99), 88U);
  EXPECT_EQ(kSizesOf<runnel_recognizer_status>.front(), 96U);
  EXPECT_EQ(offsetof(runnel_token, confidence), 12U);
  EXPECT_EQ(kSizesOf<runnel_token>.front(), 32U);
  EXPECT_EQ(offsetof(runnel_token, frame), 32U);
  EXPECT_EQ(kSizesOf<runnel_token>.back(), 40U);
  EXPECT_EQ(offsetof(runnel_word, start_ms), 24U);
  EXPECT_EQ(kSizesOf<runnel_word>.front(), 40U);
  EXPECT_EQ(offsetof(runnel_hotword_match, start_ms), 16U);
  EXPECT_EQ(kSizesOf<runnel_hotword_match>.front(), 32U);
}

}  // namespace
}  // namespace runnel::c_api
