// Many short live streams in many threads, with any order of calls. Whatever happens to the others,
// a stream that is decoded to its end has the results of Stream, and every stream ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_steps.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::kPatience;
using testing::kPatienceMs;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

// What the updates of one stream said, and checks that they fit together.
class Heard {
 public:
  void Take(const LiveUpdate& update) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_FALSE(is_final_) << "an update after the final one";
    EXPECT_FALSE(must_be_silent_) << "an update after Cancel";
    for (const Utterance& utterance : update.utterances) {
      EXPECT_TRUE(utterances_.emplace(utterance.index, utterance).second);
      num_answers_ += utterance.end == UtteranceEnd::kFinalize ? 1 : 0;
    }
    num_answers_ += update.num_empty_finalizations;
    if (update.utterance_index != index_ || update.stable_size_before == 0) stable_size_ = 0;
    index_ = update.utterance_index;
    EXPECT_EQ(update.stable_size_before, stable_size_);
    stable_size_ += update.stable_text.size();
    audio_ms_ = update.audio_ms;
    is_final_ = update.is_final;
    error_ = update.error;
    changed_.notify_all();
  }

  void Silence() {
    const std::lock_guard<std::mutex> lock(mutex_);
    must_be_silent_ = true;
  }

  bool WaitForEnd() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return is_final_; });
  }

  // After the end.
  const std::string& error() const { return error_; }
  const std::map<int64_t, Utterance>& utterances() const { return utterances_; }
  int64_t num_answers() const { return num_answers_; }
  double audio_ms() const { return audio_ms_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Utterance> utterances_;
  int64_t num_answers_ = 0;  // to FinalizeUtterance
  int64_t index_ = 0;
  size_t stable_size_ = 0;
  double audio_ms_ = 0;
  bool is_final_ = false;
  bool must_be_silent_ = false;
  std::string error_;
};

// A stream that other threads look at.
class Shared {
 public:
  void Set(const std::shared_ptr<LiveStream>& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream_ = stream;
  }
  std::shared_ptr<LiveStream> Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stream_.lock();
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<LiveStream> stream_;
};

class Client {
 public:
  Client(Recognizer* recognizer, Shared* shared, std::mt19937_64* random)
      : recognizer_(recognizer), shared_(shared), random_(*random) {
    options_ = testing::Options(1 + Random(12), Random(9),
                                OneIn(3) ? SearchMethod::kPrefixBeam : SearchMethod::kGreedy);
    if (OneIn(3)) options_ = testing::WithEndpoints(options_);
    if (OneIn(3)) options_.early_text.interval = 1 + Random(4);
    options_.endpoints.skip_silence = options_.endpoints.enabled && OneIn(3);
    constexpr int kRates[] = {8000, 16000, 44100, 48000};
    options_.sample_rate_hz = kRates[Random(std::size(kRates))];
    samples_ = NoiseOfChangingLevel(static_cast<size_t>(options_.sample_rate_hz), random_());
    Follow(recognizer->Open(options_, Callback()));
  }

  // Takes steps until the stream ends; at most `most`. Returns their number.
  int64_t Walk(int64_t most) {
    int64_t step = 0;
    for (; step < most && stream_ != nullptr && !is_finished_; ++step) {
      switch (Random(32)) {
        case 0:
          return Cancel(), step;
        case 1:
          return Release(), step;
        case 2:
          Spoil();
          break;
        case 3:
        case 4:
        case 5:
          Finalize();
          break;
        case 6:
          GoOnFrom([this] { return stream_->Fork(Callback()); });
          break;
        case 7:
          GoOnFrom([this] { return recognizer_->Restore(stream_->Snapshot(), Callback()); });
          break;
        case 8:
          Finish();
          break;
        case 9:
        case 10:
          Poll();
          break;
        default:
          Accept(1 + static_cast<size_t>(Random(4000)));
      }
    }
    return step;
  }

  // Decodes the rest, if there is any, and compares it.
  void End() {
    if (stream_ == nullptr) return;
    Finish();
    while (is_polled_ && stream_->WaitForUpdate(kPatienceMs)) Poll();
    ASSERT_TRUE(heard_->WaitForEnd()) << "no final update";
    EXPECT_TRUE(stream_->is_over());
    EXPECT_EQ(stream_->Room(), 0U);
    EXPECT_EQ(heard_->error().empty(), !is_spoiled_) << heard_->error();
    if (is_spoiled_) {
      EXPECT_THROW(stream_->Snapshot(), std::invalid_argument);
      EXPECT_THROW(stream_->Fork(), std::invalid_argument);
      return;
    }
    // A copy also answers calls that the stream before had not answered yet.
    EXPECT_GE(heard_->num_answers(), num_calls_);
    EXPECT_TRUE(!is_whole_ || heard_->num_answers() == num_calls_) << heard_->num_answers();
    Compare();
  }

 private:
  int64_t Random(int64_t count) { return static_cast<int64_t>(random_() % count); }
  bool OneIn(int64_t count) { return Random(count) == 0; }

  UpdateCallback Callback() {
    heard_ = std::make_shared<Heard>();
    is_polled_ = OneIn(2);
    if (is_polled_) return {};
    return [heard = heard_](LiveStream&, const LiveUpdate& update) { heard->Take(update); };
  }

  void Follow(std::shared_ptr<LiveStream> stream) {
    stream_ = std::move(stream);
    shared_->Set(stream_);
  }

  void Accept(size_t count) {
    for (size_t taken = 0; taken < count;) {
      const size_t at = position_ % samples_.size();
      const size_t now = std::min(count - taken, samples_.size() - at);
      const size_t accepted = stream_->AcceptSamples(samples_.data() + at, now);
      ASSERT_LE(accepted, now);
      taken += accepted;
      position_ += accepted;
      if (accepted == now) continue;
      if (is_spoiled_ && OneIn(4)) return;
      const auto room = std::make_shared<std::promise<void>>();
      stream_->NotifyRoom([room] { room->set_value(); });
      ASSERT_EQ(room->get_future().wait_for(kPatience), std::future_status::ready) << "no room";
      if (stream_->is_over()) return;
    }
  }

  void Spoil() {
    if (!OneIn(4)) return;
    const float wrong = std::numeric_limits<float>::quiet_NaN();
    is_spoiled_ = stream_->AcceptSamples(&wrong, 1) == 1 || is_spoiled_;
  }

  void Finalize() {
    for (int64_t i = 1 + Random(2); i > 0; --i, ++num_calls_) stream_->FinalizeUtterance();
    if (points_.empty() || points_.back() != position_) points_.push_back(position_);
  }

  void Finish() {
    stream_->Finish();
    is_finished_ = true;
  }

  void Poll() {
    LiveUpdate update;
    if (is_polled_ && stream_->Poll(&update)) heard_->Take(update);
  }

  // Replaces the stream, which goes on by itself or is cancelled.
  template <class Make>
  void GoOnFrom(const Make& make) {
    const std::shared_ptr<LiveStream> before = stream_;
    const std::shared_ptr<Heard> heard_before = heard_;
    const bool was_polled = is_polled_;
    std::shared_ptr<LiveStream> next;
    try {
      next = make();
    } catch (const std::invalid_argument&) {
      EXPECT_TRUE(is_spoiled_);
    }
    if (next == nullptr) {
      heard_ = heard_before;
      is_polled_ = was_polled;
      return;
    }
    is_whole_ = false;
    num_calls_ = 0;
    EXPECT_EQ(next->num_samples(), static_cast<int64_t>(position_));
    Follow(std::move(next));
    if (OneIn(2)) before->Cancel();
  }

  void Cancel() {
    stream_->Cancel();
    heard_->Silence();
    EXPECT_TRUE(stream_->is_over());
    EXPECT_FALSE(stream_->is_finalizing());
    EXPECT_EQ(stream_->Room(), 0U);
    EXPECT_THROW(stream_->Snapshot(), std::invalid_argument);
    stream_.reset();
  }

  void Release() {
    if (OneIn(2)) stream_->Finish();
    stream_.reset();
  }

  void Compare() {
    Stream stream(Tiny(), options_);
    std::vector<size_t> points = points_;
    points.push_back(position_);
    std::vector<Utterance> expected;
    for (size_t at = 0, i = 0; i < points.size(); ++i) {
      while (at < points[i]) {
        const size_t begin = at % samples_.size();
        const size_t count = std::min(points[i] - at, samples_.size() - begin);
        stream.AcceptSamples(samples_.data() + begin, count);
        at += count;
      }
      if (i < points_.size()) stream.FinalizeUtterance();
      stream.Decode();
      testing::Append(&expected, stream.TakeUtterances());
    }
    stream.Finish();
    stream.Decode();
    testing::Append(&expected, stream.TakeUtterances());
    std::vector<Utterance> found;
    for (const auto& [index, utterance] : heard_->utterances()) found.push_back(utterance);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(!is_whole_ || found.size() == expected.size()) << found.size();
    ASSERT_LE(found.size(), expected.size());
    expected.erase(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(found.size()));
    testing::ExpectSameUtterances(found, expected, testing::kBatchScoreTolerance);
    EXPECT_EQ(heard_->audio_ms(),
              static_cast<double>(stream.num_encoder_frames()) * Tiny()->encoder_frame_ms());
  }

  Recognizer* const recognizer_;
  Shared* const shared_;
  std::mt19937_64& random_;
  StreamOptions options_;
  std::vector<float> samples_;  // again and again
  std::shared_ptr<LiveStream> stream_;
  std::shared_ptr<Heard> heard_;
  bool is_polled_ = false;
  size_t position_ = 0;         // samples accepted
  std::vector<size_t> points_;  // of FinalizeUtterance
  int64_t num_calls_ = 0;       // of the stream that is followed now
  bool is_spoiled_ = false;
  bool is_finished_ = false;
  bool is_whole_ = true;  // followed from its beginning
};

RecognizerOptions Settings(int num_threads, double max_buffered_s) {
  RecognizerOptions options = testing::Workers(num_threads, 4, max_buffered_s);
  options.max_batch_wait_ms = 0;
  return options;
}

TEST(LiveWalkTest, AnyOrderOfCallsInManyThreads) {
  std::vector<std::unique_ptr<Recognizer>> recognizers;
  recognizers.push_back(std::make_unique<Recognizer>(Tiny(), Settings(2, 0.6)));
  recognizers.push_back(std::make_unique<Recognizer>(Tiny(), Settings(1, 30)));
  constexpr size_t kThreads = 4;
  std::atomic<int64_t> left{testing::RandomSteps(4000)};
  std::atomic<bool> is_done{false};
  std::mt19937_64 seeds(testing::RandomSeed(7));
  std::vector<Shared> shared(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i, seed = seeds()] {
      std::mt19937_64 random(seed);
      SCOPED_TRACE("seed " + std::to_string(seed));
      while (left > 0 && !::testing::Test::HasFailure()) {
        Client client(recognizers[random() % recognizers.size()].get(), &shared[i], &random);
        left -= 1 + client.Walk(static_cast<int64_t>(random() % 60));
        client.End();
      }
    });
  }
  // Another thread looks at all streams.
  std::thread watcher([&, random = std::mt19937_64(seeds())]() mutable {
    while (!is_done) {
      const std::shared_ptr<LiveStream> stream = shared[random() % kThreads].Get();
      if (stream == nullptr) continue;
      try {
        if (random() % 2 == 0) stream->Snapshot();
        if (random() % 4 == 0) stream->Fork();
      } catch (const std::invalid_argument&) {  // cancelled, or spoiled
      }
      EXPECT_LE(stream->Room(), static_cast<size_t>(30 * 48000));
      stream->WaitForUpdate(0);
      stream->is_finalizing();
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  watcher.join();
}

}  // namespace
}  // namespace runnel
