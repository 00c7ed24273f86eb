// Live streams as a client has them: sends with back-pressure, follows the updates.
#ifndef RUNNEL_TESTS_SUPPORT_LIVE_CLIENT_H_
#define RUNNEL_TESTS_SUPPORT_LIVE_CLIENT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "runtime/recognizer.h"

namespace runnel::testing {

// Only against hanging.
constexpr std::chrono::minutes kPatience(5);
constexpr double kPatienceMs = 300000;

// Follows a stream by its updates, as a client would, and checks that they fit together.
class Follower {
 public:
  UpdateCallback Callback() {
    return [this](LiveStream& stream, const LiveUpdate& update) {
      const StreamOptions& options = stream.options();
      previews_right_context_ = options.early_text.interval > 0 && options.right_context > 0;
      Take(update);
    };
  }

  void Take(const LiveUpdate& update) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_FALSE(last_.is_final) << "an update after the final one";
    EXPECT_EQ(update.stable_size_before, stable_.size());
    EXPECT_LE(update.num_stable_tokens, update.tokens.size());
    EXPECT_TRUE(update.audio_ms >= last_.audio_ms || previews_right_context_)
        << update.audio_ms << " after " << last_.audio_ms;
    stable_ += update.stable_text;
    text_ = stable_ + update.tentative_text;
    last_ = update;
    ++num_updates_;
    changed_.notify_all();
  }

  LiveUpdate Final() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return last_.is_final; })) {
      ADD_FAILURE() << "no final update";
    } else if (last_.error.empty()) {
      EXPECT_EQ(last_.tentative_text, "");
      EXPECT_EQ(last_.utterances.at(0).nbest.at(0).text, text_);
    }
    return last_;
  }

  int num_updates() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return num_updates_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stable_;
  std::string text_;
  LiveUpdate last_;
  int num_updates_ = 0;
  bool previews_right_context_ = false;  // which the next chunk does not cover
};

// Waits with the client's means when there is no room.
inline void Send(LiveStream* stream, const std::vector<float>& samples, size_t max_packet,
                 std::mt19937_64* random) {
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % max_packet);
    const size_t taken = stream->AcceptSamples(samples.data() + at, count);
    at += taken;
    if (taken == count) continue;
    std::promise<void> room;
    stream->NotifyRoom([&room] { room.set_value(); });
    ASSERT_EQ(room.get_future().wait_for(kPatience), std::future_status::ready);
    ASSERT_FALSE(stream->is_over());
  }
}

inline RecognizerOptions Workers(int num_threads, int max_batch_streams, double max_buffered_s) {
  RecognizerOptions options;
  options.num_threads = num_threads;
  options.max_batch_streams = max_batch_streams;
  options.max_batch_wait_ms = 1;
  options.max_buffered_s = max_buffered_s;
  return options;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_LIVE_CLIENT_H_
