// Live streams of transducers: those of Stream, whatever the threads, batches, packets and
// previews.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_heads.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Heads;
using testing::ModelWith;

// The utterances of a live stream.
class Collector {
 public:
  UpdateCallback Callback() {
    return [this](LiveStream& /*stream*/, const LiveUpdate& update) {
      const std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_EQ(update.error, "");
      testing::Append(&utterances_, update.utterances);
      if (update.is_final) over_.set_value();
    };
  }

  std::vector<Utterance> Wait() {
    EXPECT_EQ(over_.get_future().wait_for(testing::kPatience), std::future_status::ready);
    const std::lock_guard<std::mutex> lock(mutex_);
    return utterances_;
  }

 private:
  std::mutex mutex_;
  std::promise<void> over_;
  std::vector<Utterance> utterances_;
};

void ExpectLiveEqualsAlone(Heads heads) {
  const std::shared_ptr<const Model> model = ModelWith(heads);
  const std::vector<StreamOptions> all = testing::AllOptions(*model);
  const auto options_of = [&](size_t i) {
    StreamOptions options = all[i];
    options.early_text.interval = static_cast<int64_t>(i % 3);
    return options;
  };
  const auto audio_of = [](size_t i) {
    return testing::NoiseOfChangingLevel(20000 + 1234 * (i % 7), 100 + i);
  };
  Recognizer recognizer(model, testing::Workers(3, 5, 2.5));
  constexpr size_t kThreads = 3;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::shared_ptr<LiveStream>> streams;
      std::vector<std::unique_ptr<Collector>> collectors;
      std::vector<size_t> indices;
      for (size_t i = t; i < all.size(); i += kThreads) {
        collectors.push_back(std::make_unique<Collector>());
        streams.push_back(recognizer.Open(options_of(i), collectors.back()->Callback()));
        indices.push_back(i);
      }
      for (size_t k = 0; k < streams.size(); ++k) {
        testing::Send(streams[k].get(), audio_of(indices[k]), 4000, &random);
        streams[k]->Finish();
      }
      for (size_t k = 0; k < streams.size(); ++k) {
        SCOPED_TRACE(testing::NameOf(heads) + ", " + testing::DescribeSearch(all[indices[k]]));
        testing::ExpectSameUtterances(
            collectors[k]->Wait(),
            testing::UtterancesOf(audio_of(indices[k]), options_of(indices[k]), model));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TransducerLiveTest, StreamsOfManyThreadsSayWhatEachSaysAlone) {
  for (const Heads heads : testing::AllHeads()) ExpectLiveEqualsAlone(heads);
}

}  // namespace
}  // namespace runnel
