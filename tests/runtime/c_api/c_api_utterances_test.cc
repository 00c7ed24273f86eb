// Utterances through the C interface: endpoints, finalize, early text, silence that is skipped.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/c_api.h"
#include "tests/support/c_streams.h"

namespace runnel::testing {
namespace {

struct Heard {
  int64_t index;
  int32_t end;
  double start_ms;
  double end_ms;
  double searched_ms;
  std::string text;
};

std::vector<Heard> PollUtterances(const OwnedStream& stream) {
  std::vector<Heard> all;
  bool is_final = false;
  while (!is_final) {
    constexpr double kGuardMs = 60000;
    runnel_update* polled = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_wait(stream.get(), kGuardMs, &polled, error);
    });
    const OwnedUpdate update(polled);
    if (update == nullptr) {
      ADD_FAILURE() << "no final update";
      return all;
    }
    EXPECT_STREQ(runnel_update_error(polled), "");
    for (size_t i = 0; i < runnel_update_num_utterances(polled); ++i) {
      const runnel_utterance* utterance = runnel_update_utterance(polled, i);
      all.push_back({runnel_utterance_index(utterance), runnel_utterance_end(utterance),
                     runnel_utterance_start_ms(utterance), runnel_utterance_end_ms(utterance),
                     runnel_utterance_searched_ms(utterance),
                     runnel_hypothesis_text(runnel_utterance_hypothesis(utterance, 0))});
    }
    is_final = runnel_update_is_final(polled) == 1;
    const int64_t last = all.empty() ? -1 : all.back().index;
    EXPECT_EQ(runnel_update_utterance_index(polled), is_final ? last : last + 1);
  }
  return all;
}

std::vector<Heard> UtterancesOf(const OwnedRecognizer& recognizer,
                                const runnel_stream_options& options,
                                const std::vector<float>& samples) {
  const OwnedStream stream = OpenStream(recognizer, &options);
  Send(stream, samples, 0, samples.size());
  Finish(stream);
  std::vector<Heard> all = PollUtterances(stream);
  double searched_ms = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index, static_cast<int64_t>(i));
    EXPECT_EQ(all[i].end, i + 1 < all.size() ? RUNNEL_END_BY_ENDPOINT : RUNNEL_END_BY_FINISH);
    EXPECT_GE(all[i].start_ms, searched_ms);
    EXPECT_GE(all[i].end_ms, all[i].start_ms);
    EXPECT_GE(all[i].searched_ms, all[i].end_ms);
    searched_ms = all[i].searched_ms;
  }
  return all;
}

// The recording twice, with silence between.
std::vector<float> TwiceWithSilence(double silence_s) {
  std::vector<float> samples = Recording();
  samples.resize(samples.size() + static_cast<size_t>(silence_s * 16000));
  samples.insert(samples.end(), Recording().begin(), Recording().end());
  return samples;
}

// No silence ends an utterance, except of those that a test sets.
runnel_stream_options Endpoints() {
  runnel_stream_options options = StreamOptionsOfC();
  options.endpointing = 1;
  options.endpoint_silence_s = 1000;
  options.endpoint_initial_silence_s = 1000;
  return options;
}

TEST(CApiUtterancesTest, SilenceAfterSpeechEndsThem) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const std::vector<float> samples = TwiceWithSilence(2);
  EXPECT_EQ(UtterancesOf(recognizer, Endpoints(), samples).size(), 1U);
  runnel_stream_options options = Endpoints();
  options.endpoint_initial_silence_s = 1;  // does not apply after speech
  EXPECT_EQ(UtterancesOf(recognizer, options, samples).size(), 1U);
  options = Endpoints();
  options.endpoint_silence_s = 1;
  const std::vector<Heard> all = UtterancesOf(recognizer, options, samples);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].text, kTranscript);
  EXPECT_EQ(all[1].text, kTranscript);
  options.endpointing = 0;
  EXPECT_EQ(UtterancesOf(recognizer, options, samples).size(), 1U);
}

TEST(CApiUtterancesTest, SilenceBeforeSpeechDoesNotCountInTheLength) {
  const OwnedRecognizer recognizer = NewRecognizer();
  std::vector<float> samples(3 * 16000);
  samples.insert(samples.end(), Recording().begin(), Recording().end());
  runnel_stream_options options = Endpoints();
  options.endpoint_max_utterance_s = 5;  // less than 3 s of silence and 3.1 s of speech
  EXPECT_EQ(UtterancesOf(recognizer, options, samples).size(), 2U);
  options.endpoint_initial_silence_s = 1;
  const std::vector<Heard> all = UtterancesOf(recognizer, options, samples);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].text, kTranscript);
}

TEST(CApiUtterancesTest, TheLengthRuleEndsThem) {
  const OwnedRecognizer recognizer = NewRecognizer();
  runnel_stream_options options = Endpoints();
  options.endpoint_max_utterance_s = 1;
  const std::vector<Heard> all = UtterancesOf(recognizer, options, Recording());
  ASSERT_EQ(all.size(), 4U);  // the recording has 3.1 s
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].searched_ms, static_cast<double>(1000 * (i + 1)));
  }
}

TEST(CApiUtterancesTest, FramesAreSilentByTheProbabilityOfTheBlank) {
  const OwnedRecognizer recognizer = NewRecognizer();
  runnel_stream_options options = Endpoints();
  options.endpoint_silence_s = 0.1;
  options.endpoint_blank_probability = 0.1;  // nearly every frame is silent
  const size_t num_utterances = UtterancesOf(recognizer, options, Recording()).size();
  options.endpoint_blank_probability = 0.99;
  EXPECT_LT(UtterancesOf(recognizer, options, Recording()).size(), num_utterances);
}

TEST(CApiUtterancesTest, SilenceIsSkippedAndTheEncoderIsReset) {
  const std::vector<float> samples = TwiceWithSilence(8);
  runnel_stream_options options = Endpoints();
  options.endpoint_silence_s = 0.6;
  int64_t num_chunks[3] = {};
  for (const int32_t which : {0, 1, 2}) {
    const OwnedRecognizer recognizer = NewRecognizer();
    options.skip_silence = which == 1 ? 1 : 0;
    options.reset_encoder = which == 2 ? 1 : 0;
    const std::vector<Heard> all = UtterancesOf(recognizer, options, samples);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].text, kTranscript);
    EXPECT_EQ(all[1].text, kTranscript);
    runnel_recognizer_status status = {};
    status.struct_size = sizeof status;
    Succeed([&](runnel_error* error) {
      return runnel_recognizer_get_status(recognizer.get(), &status, error);
    });
    num_chunks[which] = status.num_chunks;
  }
  EXPECT_LT(num_chunks[1], num_chunks[0] - 5);  // chunks of 0.64 s
}

TEST(CApiUtterancesTest, FinalizeEndsOneAndTheStreamGoesOn) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  for (int i = 0; i < 2; ++i) {
    Send(stream, Recording(), 0, Recording().size());
    Succeed(
        [&](runnel_error* error) { return runnel_stream_finalize_utterance(stream.get(), error); });
  }
  Finish(stream);
  const std::vector<Heard> all = PollUtterances(stream);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].end, RUNNEL_END_BY_FINALIZE);
  EXPECT_EQ(all[0].text, kTranscript);
  EXPECT_EQ(all[1].end, RUNNEL_END_BY_FINALIZE);
  EXPECT_EQ(all[2].end, RUNNEL_END_BY_FINISH);
  EXPECT_EQ(all[2].text, "");
}

TEST(CApiUtterancesTest, EarlyTextComesBeforeTheChunkIsComplete) {
  const OwnedRecognizer recognizer = NewRecognizer();
  runnel_stream_options options = StreamOptionsOfC();
  options.chunk_size = 64;  // 2.56 s
  options.early_text_interval = 4;
  options.early_text_padding = 4;
  const OwnedStream stream = OpenStream(recognizer, &options);
  constexpr size_t kNumEarly = 32000;  // less than a chunk
  Send(stream, Recording(), 0, kNumEarly);
  std::string tentative;
  while (tentative.rfind("five five five", 0) != 0) {
    constexpr double kGuardMs = 60000;
    runnel_update* polled = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_wait(stream.get(), kGuardMs, &polled, error);
    });
    const OwnedUpdate update(polled);
    ASSERT_NE(update, nullptr) << "no early text";
    EXPECT_STREQ(runnel_update_stable_text(polled), "");
    tentative = runnel_update_tentative_text(polled);
  }
  Send(stream, Recording(), kNumEarly, Recording().size());
  Finish(stream);
  const Received received = PollToEnd(stream);
  options.early_text_interval = 0;
  const Received without = DecodeRecording(recognizer, &options);
  EXPECT_EQ(received.text, without.text);
  EXPECT_EQ(received.confidences, without.confidences);
}

}  // namespace
}  // namespace runnel::testing
