// Hotwords and language models through the C interface, also in snapshots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c_api.h"
#include "tests/support/c_streams.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace runnel::testing {
namespace {

std::string WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

// All digits have this log10 probability, "five" another.
std::string Unigrams(const std::string& others, const std::string& five) {
  std::string text = "\\data\\\nngram 1=12\n\n\\1-grams:\n-99 <s>\n-1 </s>\n";
  for (const char* word :
       {"zero", "one", "two", "three", "four", "six", "seven", "eight", "nine"}) {
    text += others + " " + word + "\n";
  }
  return text + five + " five\n\n\\end\\\n";
}

class CApiScoringTest : public ::testing::Test {
 protected:
  CApiScoringTest() {
    options_.search = RUNNEL_PREFIX_BEAM;
    options_.token_beam = 17;  // all
  }

  const TemporaryFolder folder_;
  const std::string even_ = WriteFile(folder_.File("even.arpa"), Unigrams("-1", "-1"));
  const std::string no_five_ = WriteFile(folder_.File("no_five.arpa"), Unigrams("-1", "-99"));
  const OwnedRecognizer recognizer_ = NewRecognizer();
  runnel_stream_options options_ = StreamOptionsOfC();
};

TEST_F(CApiScoringTest, HotwordsChangeTheText) {
  EXPECT_EQ(DecodeRecording(recognizer_, &options_).text, kTranscript);
  OwnedHotwords hotwords = NewHotwords("five :-100\n", 1);
  options_.hotwords = hotwords.get();
  const Received created = DecodeRecording(recognizer_, &options_);
  EXPECT_NE(created.text, kTranscript);
  EXPECT_FALSE(Contains(" " + created.text + " ", " five ")) << created.text;

  // From a file, with the score as the default one, and freed while the stream is open.
  runnel_hotwords* loaded = nullptr;
  const std::string path = WriteFile(folder_.File("list.txt"), "# numbers\r\nfive\r\n");
  Succeed([&](runnel_error* error) {
    return runnel_hotwords_load(Digits(), path.c_str(), -100, &loaded, error);
  });
  hotwords.reset(loaded);
  options_.hotwords = loaded;
  const OwnedStream stream = OpenStream(recognizer_, &options_);
  hotwords.reset();
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  const Received received = PollToEnd(stream);
  EXPECT_EQ(received.text, created.text);
  EXPECT_EQ(received.confidences, created.confidences);
}

TEST_F(CApiScoringTest, CompletedHotwordsAreReported) {
  const OwnedHotwords hotwords = NewHotwords("five\nzero\nnine\n", 0);
  options_.hotwords = hotwords.get();
  const OwnedStream stream = OpenStream(recognizer_, &options_);
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  for (bool is_final = false; !is_final && !HasFatalFailure();) {
    runnel_update* polled = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_wait(stream.get(), 60000, &polled, error);
    });
    ASSERT_NE(polled, nullptr);
    const OwnedUpdate update(polled);
    is_final = runnel_update_is_final(polled) == 1;
    if (!is_final) continue;
    const runnel_hypothesis* best =
        runnel_utterance_hypothesis(runnel_update_utterance(polled, 0), 0);
    size_t next = 0;
    for (size_t i = 0; i < runnel_hypothesis_num_words(best); ++i) {
      runnel_word word = {};
      word.struct_size = sizeof word;
      Succeed([&](runnel_error* error) { return runnel_hypothesis_word(best, i, &word, error); });
      const std::string text = word.text;
      if (text != "five" && text != "zero") continue;
      runnel_hotword_match match = {};
      match.struct_size = sizeof match;
      Succeed([&](runnel_error* error) {
        return runnel_hypothesis_hotword(best, next++, &match, error);
      });
      EXPECT_EQ(match.phrase, text);
      EXPECT_EQ(match.start_ms, word.start_ms);
      EXPECT_EQ(match.end_ms, word.end_ms);
    }
    EXPECT_GE(next, 2U);
    EXPECT_EQ(runnel_hypothesis_num_hotwords(best), next);
    runnel_hotword_match match = {};
    match.struct_size = sizeof match;
    EXPECT_TRUE(Contains(Failure(RUNNEL_INVALID_ARGUMENT,
                                 [&](runnel_error* error) {
                                   return runnel_hypothesis_hotword(best, next, &match, error);
                                 }),
                         "index is"));
  }
}

TEST_F(CApiScoringTest, BadHotwordsAreOneClearMessage) {
  runnel_hotwords* hotwords = nullptr;
  const auto create = [&](const char* text, float score) {
    return [&hotwords, text, score](runnel_error* error) {
      return runnel_hotwords_create(Digits(), text, score, &hotwords, error);
    };
  };
  EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, create("one\nabc\n", 1)), "hotwords:2: "));
  EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, create("", 1)), "hotwords: "));
  EXPECT_TRUE(Contains(Failure(RUNNEL_INVALID_ARGUMENT, create("one", 101)), "default score"));
  EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA,
                               [&](runnel_error* error) {
                                 return runnel_hotwords_load(Digits(), "no_such_file.txt", 1,
                                                             &hotwords, error);
                               }),
                       "no_such_file.txt"));
  EXPECT_EQ(hotwords, nullptr);
}

TEST_F(CApiScoringTest, LanguageModelsChangeTheText) {
  const OwnedLanguageModel even = LoadLanguageModel(even_);
  options_.language_model = even.get();
  EXPECT_EQ(DecodeRecording(recognizer_, &options_).text, kTranscript);
  OwnedLanguageModel no_five = LoadLanguageModel(no_five_);
  options_.language_model = no_five.get();
  options_.language_model_weight = 0;
  options_.language_model_bonus = 0;
  const Received without = DecodeRecording(recognizer_, &options_);
  EXPECT_EQ(without.text, kTranscript);
  options_.language_model_weight = 10;
  const OwnedStream stream = OpenStream(recognizer_, &options_);
  no_five.reset();
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  const Received received = PollToEnd(stream);
  EXPECT_FALSE(Contains(received.text, "five")) << received.text;
}

TEST_F(CApiScoringTest, TheBonusCountsWords) {
  const OwnedLanguageModel even = LoadLanguageModel(even_);
  options_.language_model = even.get();
  options_.language_model_weight = 0;
  options_.language_model_bonus = -100;
  const Received received = DecodeRecording(recognizer_, &options_);
  EXPECT_LT(std::count(received.text.begin(), received.text.end(), ' '), 6) << received.text;
}

TEST_F(CApiScoringTest, TheLevelIsWordsOrTokens) {
  const std::string path = WriteFile(folder_.File("tokens.arpa"),
                                     "\\data\\\nngram 1=4\n\n\\1-grams:\n-1 \xE2\x96\x81\n"
                                     "-1 o\n-1 n\n-1 e\n\n\\end\\\n");
  const OwnedLanguageModel letters = LoadLanguageModel(path);
  options_.language_model = letters.get();
  options_.language_model_level = RUNNEL_TOKEN_LEVEL;
  options_.language_model_weight = 10;
  options_.language_model_bonus = 30;
  const Received received = DecodeRecording(recognizer_, &options_);
  EXPECT_NE(received.text, "");
  EXPECT_EQ(received.text.find_first_not_of("one "), std::string::npos) << received.text;
}

TEST_F(CApiScoringTest, BadLanguageModelsAreOneClearMessage) {
  runnel_language_model* loaded = nullptr;
  const auto load = [&](const std::string& path) {
    return [&loaded, path](runnel_error* error) {
      return runnel_language_model_load(path.c_str(), &loaded, error);
    };
  };
  EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, load("no_such_file.arpa")), "no_such_file.arpa"));
  const std::string cut = WriteFile(folder_.File("cut.arpa"), "\\data\\\nngram 1=2\n");
  EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, load(cut)), cut + ":"));
  EXPECT_EQ(loaded, nullptr);

  const OwnedLanguageModel even = LoadLanguageModel(even_);
  options_.language_model = even.get();
  const auto refused = [&](const runnel_stream_options& options) {
    runnel_stream* stream = nullptr;
    return Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
      return runnel_stream_open(recognizer_.get(), &options, &stream, error);
    });
  };
  runnel_stream_options options = options_;
  options.language_model_level = 7;
  EXPECT_TRUE(Contains(refused(options), "language_model_level is 7, expected 0 to 1"));
  options = options_;
  options.language_model_weight = -1;
  EXPECT_TRUE(Contains(refused(options), "weight"));
  options = options_;
  options.language_model_bonus = 1e6;
  EXPECT_TRUE(Contains(refused(options), "bonus"));
  options = options_;
  options.search = RUNNEL_GREEDY;
  EXPECT_NE(refused(options), "");
  options = options_;
  options.language_model_level = RUNNEL_TOKEN_LEVEL;
  EXPECT_TRUE(Contains(refused(options), "they are words, expected level word"));
}

TEST_F(CApiScoringTest, StreamsOfManyThreadsShareALanguageModel) {
  const OwnedLanguageModel even = LoadLanguageModel(even_);
  options_.language_model = even.get();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      runnel_stream_options options = options_;
      options.language_model_weight = t % 2;
      for (int i = 0; i < 50; ++i) OpenStream(recognizer_, &options);
      EXPECT_EQ(DecodeRecording(recognizer_, &options).text, kTranscript);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An utterance to the last bit.
std::string Describe(const runnel_utterance* utterance) {
  const auto number = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, " %a", value);
    return std::string(text);
  };
  std::string all = std::to_string(runnel_utterance_index(utterance)) + " " +
                    std::to_string(runnel_utterance_end(utterance)) +
                    number(runnel_utterance_start_ms(utterance)) +
                    number(runnel_utterance_end_ms(utterance)) +
                    number(runnel_utterance_searched_ms(utterance));
  for (size_t i = 0; i < runnel_utterance_num_hypotheses(utterance); ++i) {
    const runnel_hypothesis* hypothesis = runnel_utterance_hypothesis(utterance, i);
    all += "\n" + std::string(runnel_hypothesis_text(hypothesis)) +
           number(runnel_hypothesis_score(hypothesis)) +
           number(runnel_hypothesis_confidence(hypothesis));
  }
  return all;
}

// The utterances of a stream, and what a snapshot in each callback holds.
struct Listener {
  struct Point {
    std::vector<uint8_t> snapshot;
    size_t num_utterances;  // before it
  };
  std::vector<std::string> utterances;
  std::vector<Point> points;
  bool takes_snapshots = false;
  Signal over;

  static void OnUpdate(void* user_data, runnel_stream* stream, const runnel_update* update) {
    auto* self = static_cast<Listener*>(user_data);
    EXPECT_STREQ(runnel_update_error(update), "");
    for (size_t i = 0; i < runnel_update_num_utterances(update); ++i) {
      self->utterances.push_back(Describe(runnel_update_utterance(update, i)));
    }
    if (self->takes_snapshots) {
      runnel_buffer* snapshot = nullptr;
      Succeed(
          [&](runnel_error* error) { return runnel_stream_snapshot(stream, &snapshot, error); });
      const OwnedBuffer owned(snapshot);
      const uint8_t* data = runnel_buffer_data(snapshot);
      self->points.push_back(
          {{data, data + runnel_buffer_size(snapshot)}, self->utterances.size()});
    }
    if (runnel_update_is_final(update) == 1) self->over.Set();
  }
};

TEST_F(CApiScoringTest, SnapshotsContinueWithHotwordsLanguageModelAndEndpoints) {
  std::vector<float> samples = Recording();
  samples.resize(samples.size() + 16000);  // silence
  samples.insert(samples.end(), Recording().begin(), Recording().end());
  const OwnedLanguageModel even = LoadLanguageModel(even_);
  OwnedHotwords hotwords = NewHotwords("four two\nnine\nfive :-0.5\n", 0.5F);
  Listener expected;
  expected.takes_snapshots = true;
  options_.language_model = even.get();
  options_.hotwords = hotwords.get();
  options_.language_model_weight = 0.25;
  options_.nbest = 3;
  options_.endpointing = 1;
  options_.endpoint_silence_s = 0.6;
  options_.on_update = Listener::OnUpdate;
  options_.user_data = &expected;
  const OwnedStream stream = OpenStream(recognizer_, &options_);
  hotwords.reset();
  for (size_t begin = 0; begin < samples.size(); begin += 10000) {
    Send(stream, samples, begin, std::min(begin + 10000, samples.size()));
  }
  Finish(stream);
  ASSERT_TRUE(expected.over.Wait());
  ASSERT_GE(expected.utterances.size(), 2U);
  ASSERT_GE(expected.points.size(), 3U);

  const OwnedLanguageModel again = LoadLanguageModel(even_);
  const OwnedLanguageModel other = LoadLanguageModel(no_five_);
  for (const Listener::Point& point : expected.points) {
    Listener listener;
    runnel_restore_options options;
    runnel_restore_options_init(&options, sizeof options);
    options.on_update = Listener::OnUpdate;
    options.user_data = &listener;
    runnel_stream* restored = nullptr;
    const auto restore = [&](runnel_error* error) {
      return runnel_stream_restore(recognizer_.get(), point.snapshot.data(), point.snapshot.size(),
                                   &options, &restored, error);
    };
    EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, restore), "another language model"));
    options.language_model = other.get();
    EXPECT_TRUE(Contains(Failure(RUNNEL_BAD_DATA, restore), "another language model"));
    EXPECT_EQ(restored, nullptr);
    options.language_model = again.get();
    Succeed(restore);
    const OwnedStream owned(restored);
    const auto sent = static_cast<size_t>(runnel_stream_num_samples(restored));
    if (sent < samples.size()) Send(owned, samples, sent, samples.size());
    Finish(owned);
    ASSERT_TRUE(listener.over.Wait());
    EXPECT_EQ(listener.utterances,
              std::vector<std::string>(
                  expected.utterances.begin() + static_cast<std::ptrdiff_t>(point.num_utterances),
                  expected.utterances.end()));
  }
}

}  // namespace
}  // namespace runnel::testing
