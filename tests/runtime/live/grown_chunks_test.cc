// Live streams whose chunks grow under load and shrink after it. The test is the worker and the
// clock: it decides how long chunks take, so that all is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/live/batch_workers.h"
#include "runtime/live/exit_gate.h"
#include "runtime/live/live_stream_state.h"
#include "runtime/live/stream_pool.h"
#include "runtime/recognizer.h"
#include "tests/support/error_message.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ExpectSame;
using testing::Follower;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

constexpr double kFrameMs = 40;
constexpr size_t kSamplesPerMs = 16;

// A server with one worker and clients that send in real time.
class Simulation {
 public:
  explicit Simulation(int max_chunk_factor, double max_buffered_s = 60)
      : options_(WithFactor(max_chunk_factor, max_buffered_s)),
        pool_(std::make_shared<StreamPool>(options_, [this] { return now_; })),
        workers_(std::make_shared<BatchWorkers>(pool_, options_)),
        pass_(&ExitGate::OfProcess(), &is_over_) {}

  ~Simulation() { pool_->Close(); }

  // The time that a chunk takes: that of its frames and that of the chunk itself.
  microseconds per_chunk{0};
  microseconds per_frame{0};

  struct Client {
    std::shared_ptr<LiveStream> stream;
    std::vector<float> samples;
    StreamOptions options;
    size_t sent = 0;
    bool is_sending = true;
    std::vector<int64_t> chunks;  // encoder frames of each
    double audio_ms = 0;
    double most_latency_ms = 0;
    Follower follower;
  };

  // The client begins after `offset` of time, like others at their own moments.
  Client* Open(const StreamOptions& options, uint64_t seed, size_t num_samples) {
    auto client = std::make_unique<Client>();
    Client* opened = client.get();
    opened->samples = NoiseOfChangingLevel(num_samples, seed);
    opened->options = options;
    opened->stream =
        MakeLiveStream(pool_, Stream(Tiny(), options), [this, opened](auto&, const auto& update) {
          const double frames = (update.audio_ms - opened->audio_ms) / kFrameMs;
          opened->chunks.push_back(static_cast<int64_t>(frames + 0.5));
          opened->audio_ms = update.audio_ms;
          opened->follower.Take(update);
          now_ += per_chunk + per_frame * opened->chunks.back();
          opened->most_latency_ms = std::max(opened->most_latency_ms, update.latency_ms);
        });
    clients_.push_back(std::move(client));
    return opened;
  }

  // Time passes by 10 ms and by what the worker does.
  void Run(double seconds) {
    const auto end = now_ + milliseconds(static_cast<int64_t>(1000 * seconds));
    while (now_ < end) {
      if (pool_->queue().size() == 0) now_ += milliseconds(10);
      Send();
      if (pool_->queue().size() == 0) continue;
      ASSERT_TRUE(workers_->TakeBatch(&pass_));
    }
  }

  void Finish(Client* client) {
    client->is_sending = false;
    client->stream->Finish();
    while (!client->stream->is_over()) ASSERT_TRUE(workers_->TakeBatch(&pass_));
  }

  std::map<int, int64_t> StreamsByFactor() const { return pool_->StreamsByFactor(); }

 private:
  static RecognizerOptions WithFactor(int max_chunk_factor, double max_buffered_s) {
    RecognizerOptions options = testing::Workers(1, 4, max_buffered_s);
    options.max_batch_wait_ms = 0;
    options.max_chunk_factor = max_chunk_factor;
    return options;
  }

  // Every client has sent as much audio as time has passed since it began.
  void Send() {
    const auto passed = std::chrono::duration_cast<milliseconds>(now_ - sent_until_).count();
    sent_until_ += milliseconds(passed);
    for (const auto& client : clients_) {
      if (!client->is_sending) continue;
      const size_t count = std::min(client->samples.size() - client->sent,
                                    static_cast<size_t>(passed) * kSamplesPerMs);
      client->sent += client->stream->AcceptSamples(client->samples.data() + client->sent, count);
    }
  }

  StreamPool::Clock::time_point now_{};
  StreamPool::Clock::time_point sent_until_{};
  const RecognizerOptions options_;
  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<BatchWorkers> workers_;
  std::atomic<bool> is_over_{false};
  ExitGate::Pass pass_;
  std::vector<std::unique_ptr<Client>> clients_;
};

// What a Stream says that is told the sizes of the chunks.
std::vector<Hypothesis> DecodeInChunks(const Simulation::Client& client) {
  Stream stream(Tiny(), client.options);
  stream.AcceptSamples(client.samples.data(), client.sent);
  for (size_t i = 0; i + 1 < client.chunks.size(); ++i) {
    stream.SetChunkSize(client.chunks[i]);
    EXPECT_EQ(DecodeChunks({&stream}), 1U) << i;
  }
  stream.SetChunkSize(4 * client.options.chunk_size);
  stream.Finish();
  stream.Decode();  // what is left, if anything
  EXPECT_EQ(static_cast<double>(stream.num_encoder_frames()) * kFrameMs, client.audio_ms);
  return stream.NBest(1);
}

class GrownChunksTest : public ::testing::Test {
 protected:
  // 8 clients with chunks of 4 frames (160 ms) need 8 * 25 ms in 160 ms. With chunks of 8 frames
  // they need 8 * 30 ms in 320 ms.
  void OpenAll(Simulation* simulation) {
    simulation->per_chunk = milliseconds(20);
    simulation->per_frame = microseconds(1250);
    for (uint64_t i = 0; i < 8; ++i) {
      clients_.push_back(simulation->Open(Options(4, 16), i + 1, kSamplesPerMs * 100000));
      simulation->Run(0.05);
    }
  }

  std::vector<Simulation::Client*> clients_;
};

TEST_F(GrownChunksTest, GrowUnderLoadAndShrinkAfterIt) {
  Simulation simulation(4);
  OpenAll(&simulation);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 8}, {2, 0}, {4, 0}}));
  simulation.Run(10);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 0}, {2, 8}, {4, 0}}));
  // Nobody is behind.
  for (Simulation::Client* client : clients_) client->most_latency_ms = 0;
  simulation.Run(10);
  for (const Simulation::Client* client : clients_) EXPECT_LT(client->most_latency_ms, 320);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 0}, {2, 8}, {4, 0}}));
  // Four clients leave: what is left needs 100 ms in 160 ms.
  for (size_t i = 4; i < 8; ++i) simulation.Finish(clients_[i]);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 0}, {2, 4}, {4, 0}}));
  simulation.Run(10);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 4}, {2, 0}, {4, 0}}));
  for (size_t i = 0; i < 4; ++i) simulation.Finish(clients_[i]);
  for (Simulation::Client* client : clients_) {
    EXPECT_EQ(client->chunks.front(), 4);  // the first one never grows
    ExpectSame(client->follower.Final().utterances.back().nbest, DecodeInChunks(*client),
               testing::kBatchScoreTolerance);
  }
}

TEST_F(GrownChunksTest, GrowTwiceUnderMoreLoad) {
  Simulation simulation(4);
  OpenAll(&simulation);
  // 8 * 50 ms in 160 ms, 8 * 60 ms in 320 ms, 8 * 80 ms in 640 ms: at 2.5, 1.5 and 1 times the
  // time.
  simulation.per_chunk = milliseconds(38);
  simulation.per_frame = microseconds(2400);
  simulation.Run(20);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 0}, {2, 0}, {4, 8}}));
  for (const Simulation::Client* client : clients_) EXPECT_EQ(client->chunks.back(), 16);
}

TEST_F(GrownChunksTest, WithoutTheOptionTheyFallBehind) {
  Simulation simulation(1);
  OpenAll(&simulation);
  simulation.Run(20);
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 8}}));
  for (const Simulation::Client* client : clients_) {
    EXPECT_EQ(client->chunks, std::vector<int64_t>(client->chunks.size(), 4));
    EXPECT_GT(client->most_latency_ms, 2000);
  }
}

TEST_F(GrownChunksTest, EachGrowsByWhatItMayHave) {
  Simulation simulation(4, 1.5);  // 37 encoder frames are buffered
  OpenAll(&simulation);
  simulation.per_frame = milliseconds(10);
  const auto* most = simulation.Open(Options(16, 8), 21, kSamplesPerMs * 100000);
  const auto* long_one = simulation.Open(Options(33, 8), 22, kSamplesPerMs * 100000);
  simulation.Run(30);
  EXPECT_EQ(clients_[0]->chunks.back(), 16);
  EXPECT_EQ(most->chunks.back(), 32);      // 64 frames would not fit in the buffer
  EXPECT_EQ(long_one->chunks.back(), 33);  // 66 are more than kMaxGrownChunk
  EXPECT_EQ(simulation.StreamsByFactor(), (std::map<int, int64_t>{{1, 1}, {2, 1}, {4, 8}}));
}

TEST(GrownChunksOfRecognizersTest, PreviewsGrowWithThem) {
  StreamOptions options = Options(4, 8);
  options.early_text.interval = 3;
  const auto pool = std::make_shared<StreamPool>(testing::Workers(1, 4, 30));
  LiveStream::State state(pool, Stream(Tiny(), options), {}, "");
  for (const int factor : {1, 2, 4}) {
    state.GrowChunk(factor);
    EXPECT_EQ(state.ChunkFactor(), factor);
    EXPECT_EQ(state.SamplesWanted(), static_cast<size_t>(state.stream.MinSamplesTo(4 * factor)));
    EXPECT_EQ(state.NextPreview(), 3 * factor);
    EXPECT_EQ(state.SamplesToPreview(), static_cast<size_t>(state.stream.MinSamplesTo(3 * factor)));
  }
}

TEST(GrownChunksOfRecognizersTest, ARestoredOrForkedStreamHasItsOwnSize) {
  Stream grown(Tiny(), Options(4, 8));
  grown.SetChunkSize(16);
  const std::vector<float> samples = NoiseOfChangingLevel(7000, 3);  // about 10 frames
  grown.AcceptSamples(samples.data(), samples.size());
  ASSERT_FALSE(grown.ChunkReady());
  Recognizer recognizer(Tiny(), testing::Workers(1, 4, 1));
  const auto restored = recognizer.Restore(grown.Snapshot());
  LiveUpdate update;
  ASSERT_TRUE(restored->WaitForUpdate(testing::kPatienceMs));
  ASSERT_TRUE(restored->Poll(&update));
  EXPECT_GE(update.audio_ms, 160);
}

TEST(GrownChunksOfRecognizersTest, TheFactorIsChecked) {
  for (const int factor : {-1, 0, 3, 5, 8}) {
    RecognizerOptions options;
    options.max_chunk_factor = factor;
    EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>([&] { options.Validate(); }),
              "RecognizerOptions: max_chunk_factor is " + std::to_string(factor) +
                  ", expected 1, 2 or 4");
  }
  RecognizerOptions options = testing::Workers(1, 4, 1);
  EXPECT_EQ(Recognizer(Tiny(), options).status().streams_by_factor,
            (std::map<int, int64_t>{{1, 0}}));
  options.max_chunk_factor = 2;
  EXPECT_EQ(Recognizer(Tiny(), options).status().streams_by_factor,
            (std::map<int, int64_t>{{1, 0}, {2, 0}}));
}

}  // namespace
}  // namespace runnel
