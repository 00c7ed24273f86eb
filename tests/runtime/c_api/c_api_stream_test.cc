// Streams through the C interface: polling and callbacks, back-pressure, snapshots, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c_api.h"
#include "tests/support/c_streams.h"
#include "tests/support/error_message.h"

namespace runnel::testing {
namespace {

// The owner of a stream with a callback.
struct Listener {
  Received received;
  Signal final_came;
  OwnedUpdate last;              // a copy
  OwnedStream* close = nullptr;  // closed by the final callback

  static void OnUpdate(void* user_data, runnel_stream* stream, const runnel_update* update) {
    auto* self = static_cast<Listener*>(user_data);
    Add(update, &self->received);
    runnel_update* copy = nullptr;
    Succeed([&](runnel_error* error) { return runnel_update_copy(update, &copy, error); });
    self->last.reset(copy);
    runnel_stream_close(stream);  // borrowed: does nothing
    if (!self->received.is_final) return;
    if (self->close != nullptr) self->close->reset();
    self->final_came.Set();
  }

  runnel_stream_options Options() {
    runnel_stream_options options = StreamOptionsOfC();
    options.on_update = OnUpdate;
    options.user_data = this;
    return options;
  }
};

TEST(CApiStreamTest, PollingHearsTheTranscript) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  EXPECT_EQ(runnel_stream_sample_rate_hz(stream.get()), 16000);
  EXPECT_EQ(runnel_stream_chunk_size(stream.get()), 16);
  EXPECT_EQ(runnel_stream_left_context(stream.get()), 64);
  EXPECT_EQ(runnel_stream_right_context(stream.get()), RUNNEL_NO_RIGHT_CONTEXT);
  EXPECT_EQ(runnel_stream_cached_windows(stream.get()), 0);
  runnel_update* update = nullptr;
  Succeed([&](runnel_error* error) { return runnel_stream_poll(stream.get(), &update, error); });
  EXPECT_EQ(update, nullptr);
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  const Received received = PollToEnd(stream);
  EXPECT_EQ(received.text, kTranscript);
  EXPECT_EQ(received.stable_text, kTranscript);
  EXPECT_EQ(received.error, "");
  EXPECT_EQ(runnel_stream_num_samples(stream.get()), static_cast<int64_t>(Recording().size()));
}

TEST(CApiStreamTest, CachedWindows) {
  const std::string path =
      std::string(RUNNEL_SOURCE_DIR) + "/tests/golden/encoder/variants/utterance_mean.pt";
  runnel_model* offline = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_model_load(path.c_str(), nullptr, &offline, error);
  });
  const OwnedModel model(offline);
  runnel_recognizer* created = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_recognizer_create(offline, nullptr, &created, error);
  });
  const OwnedRecognizer recognizer(created);
  std::vector<std::vector<float>> confidences;
  for (const int32_t cached : {0, 1}) {
    runnel_stream_options options = StreamOptionsOfC();
    options.chunk_size = 4;
    options.left_context = 80;
    options.right_context = 3;
    options.cached_windows = cached;
    const OwnedStream stream = OpenStream(recognizer, &options);
    EXPECT_EQ(runnel_stream_cached_windows(stream.get()), cached);
    Send(stream, Recording(), 0, Recording().size());
    Finish(stream);
    confidences.push_back(PollToEnd(stream).confidences);
  }
  EXPECT_FALSE(confidences[1].empty());
  EXPECT_NE(confidences[0], confidences[1]);
}

TEST(CApiStreamTest, CallbacksHearTheSameAndMayCloseTheStream) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const Received polled = DecodeRecording(recognizer);
  for (const bool closes : {false, true}) {
    Listener listener;
    const runnel_stream_options options = listener.Options();
    OwnedStream stream = OpenStream(recognizer, &options);
    if (closes) listener.close = &stream;
    Send(stream, Recording(), 0, Recording().size());
    Finish(stream);
    ASSERT_TRUE(listener.final_came.Wait());
    EXPECT_EQ(listener.received.text, polled.text);
    EXPECT_EQ(listener.received.confidences, polled.confidences);
    stream.reset();
    EXPECT_EQ(runnel_update_is_final(listener.last.get()), 1);  // the copy is the listener's own
  }
}

TEST(CApiStreamTest, FinalUpdatesHaveHypothesesWordsAndTokens) {
  const OwnedRecognizer recognizer = NewRecognizer();
  Listener listener;
  runnel_stream_options options = listener.Options();
  options.search = RUNNEL_PREFIX_BEAM;
  options.nbest = 3;
  const OwnedStream stream = OpenStream(recognizer, &options);
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  ASSERT_TRUE(listener.final_came.Wait());
  const runnel_update* update = listener.last.get();
  ASSERT_EQ(runnel_update_num_utterances(update), 1U);
  EXPECT_EQ(runnel_update_utterance(update, 1), nullptr);
  const runnel_utterance* utterance = runnel_update_utterance(update, 0);
  ASSERT_EQ(runnel_utterance_num_hypotheses(utterance), 3U);
  EXPECT_EQ(runnel_utterance_hypothesis(utterance, 3), nullptr);
  const runnel_hypothesis* best = runnel_utterance_hypothesis(utterance, 0);
  EXPECT_GE(runnel_hypothesis_score(best),
            runnel_hypothesis_score(runnel_utterance_hypothesis(utterance, 1)));

  std::string words;
  double end_ms = 0;
  for (size_t i = 0; i < runnel_hypothesis_num_words(best); ++i) {
    runnel_word word = {};
    word.struct_size = sizeof word;
    Succeed([&](runnel_error* error) { return runnel_hypothesis_word(best, i, &word, error); });
    words += (i == 0 ? "" : " ") + std::string(word.text);
    EXPECT_GE(word.start_ms, end_ms);
    EXPECT_GT(word.end_ms, word.start_ms);
    EXPECT_GT(word.confidence, 0);
    end_ms = word.end_ms;
  }
  EXPECT_EQ(words, runnel_hypothesis_text(best));
  const std::string first_token = runnel_model_token(Digits(), TokenOf(best, 0).id);
  EXPECT_EQ(runnel_hypothesis_begins_word(best), first_token == "\u2581" ? 1 : 0);
  EXPECT_EQ(runnel_update_begins_word(update), runnel_hypothesis_begins_word(best));
  EXPECT_EQ(runnel_hypothesis_ends_word(best), 0);
  EXPECT_EQ(runnel_hypothesis_begins_word(nullptr), 0);
  EXPECT_STREQ(runnel_hypothesis_language(best), "");  // the digits tell none
  EXPECT_STREQ(runnel_hypothesis_language(nullptr), "");
  EXPECT_LE(end_ms, runnel_update_audio_ms(update) + 1e-9);

  std::string tokens;
  for (size_t i = 0; i < runnel_hypothesis_num_tokens(best); ++i) {
    tokens += runnel_model_token(Digits(), TokenOf(best, i).id);
  }
  EXPECT_NE(tokens.find("five"), std::string::npos) << tokens;
  EXPECT_GT(TokenOf(best, 0).frame, 0);
  EXPECT_LT(TokenOf(best, 0).frame, TokenOf(best, 1).frame);

  // A program of the first release has no frame.
  std::vector<char> old_token(offsetof(runnel_token, frame));
  const size_t old_size = old_token.size();
  std::memcpy(old_token.data(), &old_size, sizeof old_size);
  Succeed([&](runnel_error* error) {
    return runnel_hypothesis_token(best, 0, reinterpret_cast<runnel_token*>(old_token.data()),
                                   error);
  });
  int32_t id = 0;
  std::memcpy(&id, old_token.data() + offsetof(runnel_token, id), sizeof id);
  EXPECT_EQ(id, TokenOf(best, 0).id);

  runnel_token token = {};
  token.struct_size = sizeof token;
  EXPECT_TRUE(Contains(Failure(RUNNEL_INVALID_ARGUMENT,
                               [&](runnel_error* error) {
                                 return runnel_hypothesis_token(best, 1000, &token, error);
                               }),
                       "index is 1000"));
}

TEST(CApiStreamTest, SixteenBitSamplesAreThoseSamples) {
  const OwnedRecognizer recognizer = NewRecognizer();
  std::vector<int16_t> samples;  // the recording has 16 bits
  for (const float sample : Recording()) {
    samples.push_back(static_cast<int16_t>(std::lround(sample * 32768)));
  }
  const OwnedStream stream = OpenStream(recognizer);
  size_t accepted = 0;
  Succeed([&](runnel_error* error) {
    return runnel_stream_accept_int16(stream.get(), samples.data(), samples.size(), &accepted,
                                      error);
  });
  EXPECT_EQ(accepted, samples.size());
  Finish(stream);
  const Received expected = DecodeRecording(recognizer);
  const Received received = PollToEnd(stream);
  EXPECT_EQ(received.text, expected.text);
  EXPECT_EQ(received.confidences, expected.confidences);
}

TEST(CApiStreamTest, WhatThereIsNoRoomForIsOfferedAgain) {
  runnel_recognizer_options options = RecognizerOptionsOfC();
  options.max_buffered_s = 1;  // the recording has 3.1
  const OwnedRecognizer recognizer = NewRecognizer(&options);
  const OwnedStream stream = OpenStream(recognizer);
  EXPECT_EQ(runnel_stream_room(stream.get()), 16000U);
  size_t sent = 0;
  bool was_full = false;
  while (sent < Recording().size()) {
    size_t accepted = 0;
    Succeed([&](runnel_error* error) {
      return runnel_stream_accept_float32(stream.get(), Recording().data() + sent,
                                          Recording().size() - sent, &accepted, error);
    });
    ASSERT_LE(accepted, 16000U);
    sent += accepted;
    if (sent == Recording().size()) break;
    was_full = true;
    Signal room;
    Succeed([&](runnel_error* error) {
      return runnel_stream_notify_room(
          stream.get(), [](void* signal) { static_cast<Signal*>(signal)->Set(); }, &room, error);
    });
    ASSERT_TRUE(room.Wait());
  }
  EXPECT_TRUE(was_full);
  Finish(stream);
  EXPECT_EQ(PollToEnd(stream).text, kTranscript);
}

TEST(CApiStreamTest, CancelledStreamsAreOver) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  Send(stream, Recording(), 0, 2000);
  Succeed([&](runnel_error* error) { return runnel_stream_cancel(stream.get(), error); });
  EXPECT_EQ(runnel_stream_is_over(stream.get()), 1);
  EXPECT_EQ(runnel_stream_room(stream.get()), 0U);
  size_t accepted = 1;
  Succeed([&](runnel_error* error) {
    return runnel_stream_accept_float32(stream.get(), Recording().data(), 10, &accepted, error);
  });
  EXPECT_EQ(accepted, 0U);
  runnel_buffer* snapshot = nullptr;
  Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
    return runnel_stream_snapshot(stream.get(), &snapshot, error);
  });
}

TEST(CApiStreamTest, NoCallbackRunsAfterClose) {
  struct State {
    // Long enough to notice if close did not wait.
    void RunCallback() {
      began.Set();
      for (int i = 0; i < 100; ++i) {
        if (closed) ++late;
        std::this_thread::yield();
      }
    }
    Signal began;
    std::atomic<bool> closed{false};
    std::atomic<int> late{0};
  };
  runnel_recognizer_options recognizer_options = RecognizerOptionsOfC();
  recognizer_options.max_buffered_s = 1;
  const OwnedRecognizer recognizer = NewRecognizer(&recognizer_options);
  for (int round = 0; round < 30; ++round) {
    State state;
    runnel_stream_options options = StreamOptionsOfC();
    options.chunk_size = 1;
    options.user_data = &state;
    if (round % 3 != 0) {
      options.on_update = [](void* user_data, runnel_stream*, const runnel_update*) {
        static_cast<State*>(user_data)->RunCallback();
      };
    }
    OwnedStream stream = OpenStream(recognizer, &options);
    Send(stream, Recording(), 0, 16000);
    if (round % 3 != 1) {
      Succeed([&](runnel_error* error) {
        return runnel_stream_notify_room(
            stream.get(), [](void* user_data) { static_cast<State*>(user_data)->RunCallback(); },
            &state, error);
      });
    }
    if (round % 2 == 0) Finish(stream);
    ASSERT_TRUE(state.began.Wait());
    stream.reset();
    state.closed = true;
    EXPECT_EQ(state.late, 0);
  }
}

OwnedBuffer Snapshot(const OwnedStream& stream) {
  runnel_buffer* snapshot = nullptr;
  Succeed(
      [&](runnel_error* error) { return runnel_stream_snapshot(stream.get(), &snapshot, error); });
  return OwnedBuffer(snapshot);
}

TEST(CApiSnapshotTest, RestoredAndForkedStreamsHearTheSameToTheBit) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedRecognizer other = NewRecognizer();
  const Received expected = DecodeRecording(recognizer);
  for (const size_t at : {size_t{0}, size_t{1}, size_t{12345}, size_t{30000}}) {
    SCOPED_TRACE(at);
    const OwnedStream stream = OpenStream(recognizer);
    Send(stream, Recording(), 0, at);
    const OwnedBuffer snapshot = Snapshot(stream);
    runnel_stream* fork = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_fork(stream.get(), nullptr, nullptr, &fork, error);
    });
    runnel_stream* restored = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_restore(other.get(), runnel_buffer_data(snapshot.get()),
                                   runnel_buffer_size(snapshot.get()), nullptr, &restored, error);
    });
    Succeed([&](runnel_error* error) { return runnel_stream_cancel(stream.get(), error); });
    for (runnel_stream* continued : {fork, restored}) {
      const OwnedStream owned(continued);
      EXPECT_EQ(runnel_stream_num_samples(continued), static_cast<int64_t>(at));
      Send(owned, Recording(), at, Recording().size());
      Finish(owned);
      const Received received = PollToEnd(owned);
      EXPECT_EQ(received.text, expected.text);
      EXPECT_EQ(received.confidences, expected.confidences);
    }
  }
}

TEST(CApiSnapshotTest, CallbacksMaySnapshotTheBorrowedStream) {
  struct State {
    std::vector<std::string> snapshots;
    Signal over;
  } state;
  const OwnedRecognizer recognizer = NewRecognizer();
  runnel_stream_options options = StreamOptionsOfC();
  options.user_data = &state;
  options.on_update = [](void* user_data, runnel_stream* stream, const runnel_update* update) {
    auto* of = static_cast<State*>(user_data);
    runnel_buffer* snapshot = nullptr;
    Succeed([&](runnel_error* error) { return runnel_stream_snapshot(stream, &snapshot, error); });
    const OwnedBuffer owned(snapshot);
    of->snapshots.emplace_back(reinterpret_cast<const char*>(runnel_buffer_data(snapshot)),
                               runnel_buffer_size(snapshot));
    if (runnel_update_is_final(update) == 1) of->over.Set();
  };
  const OwnedStream stream = OpenStream(recognizer, &options);
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  ASSERT_TRUE(state.over.Wait());
  EXPECT_GE(state.snapshots.size(), 2U);
}

TEST(CApiSnapshotTest, BadBytesAreBadData) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  Send(stream, Recording(), 0, 20000);
  const OwnedBuffer snapshot = Snapshot(stream);
  const uint8_t* data = runnel_buffer_data(snapshot.get());
  const std::vector<uint8_t> good(data, data + runnel_buffer_size(snapshot.get()));
  const auto refused = [&](const std::vector<uint8_t>& bytes) {
    runnel_stream* restored = nullptr;
    const uint8_t none = 0;
    Failure(RUNNEL_BAD_DATA, [&](runnel_error* error) {
      return runnel_stream_restore(recognizer.get(), bytes.empty() ? &none : bytes.data(),
                                   bytes.size(), nullptr, &restored, error);
    });
    EXPECT_EQ(restored, nullptr);
  };
  refused({});
  refused({1, 2, 3});
  refused(std::vector<uint8_t>(good.begin(), good.end() - 1));
  std::vector<uint8_t> flipped = good;
  flipped[flipped.size() / 2] ^= 1U;
  refused(flipped);
}

TEST(CApiThreadsTest, StreamsFromManyThreadsHearWhatOneAloneHears) {
  std::atomic<int64_t> reported_chunks{0};
  runnel_recognizer_options options = RecognizerOptionsOfC();
  options.num_threads = 2;
  options.max_batch_streams = 4;
  options.user_data = &reported_chunks;
  options.on_batch = [](void* user_data, const runnel_batch_report* report) {
    EXPECT_EQ(report->struct_size, sizeof *report);
    EXPECT_GE(report->num_chunks, 1U);
    for (size_t i = 0; i < report->num_chunks; ++i) {
      EXPECT_LE(report->queue_ms[i], report->chunk_ms[i]);
    }
    *static_cast<std::atomic<int64_t>*>(user_data) += static_cast<int64_t>(report->num_chunks);
  };
  OwnedRecognizer recognizer = NewRecognizer(&options);
  const Received expected = DecodeRecording(recognizer);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const OwnedStream stream = OpenStream(recognizer);
      const size_t packet = 1000 + 777 * t;
      for (size_t begin = 0; begin < Recording().size(); begin += packet) {
        Send(stream, Recording(), begin, std::min(begin + packet, Recording().size()));
      }
      Finish(stream);
      const Received received = PollToEnd(stream);
      EXPECT_EQ(received.text, expected.text);
      EXPECT_EQ(received.confidences, expected.confidences);
    });
  }
  for (std::thread& thread : threads) thread.join();
  runnel_recognizer_status status = {};
  status.struct_size = sizeof status;
  Succeed([&](runnel_error* error) {
    return runnel_recognizer_get_status(recognizer.get(), &status, error);
  });
  EXPECT_EQ(status.num_streams, 0);
  EXPECT_EQ(status.queued_streams, 0);
  EXPECT_NEAR(status.audio_s, 5 * static_cast<double>(Recording().size()) / 16000, 5 * 0.1);
  EXPECT_GE(status.num_chunks, status.num_batches);
  EXPECT_GT(status.compute_s, 0);
  EXPECT_LE(status.chunk_ms_p50, status.chunk_ms_p95);
  recognizer.reset();  // after it no callback runs
  EXPECT_EQ(reported_chunks, status.num_chunks);
}

}  // namespace
}  // namespace runnel::testing
