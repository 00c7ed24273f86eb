// A process that ends while recognizers are alive neither crashes nor hangs, and returns its
// status.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

// The address sanitizer asks glibc for the attributes of every thread that starts, and glibc
// allocates memory for the answer, in one of these three functions. A process that exits at this
// moment has not leaked it. Read by the leak sanitizer, if the test is built with it.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreserved-identifier"  // the sanitizer chose the name
#endif
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__pthread_attr_extension\nleak:pthread_attr_setaffinity_np\n"
         "leak:pthread_getattr_np";
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

namespace runnel {
namespace {

using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::Workers;

constexpr int kStatus = 7;

// Runs each test in its own process, several times because the timing is random.
class RecognizerExitTest : public ::testing::TestWithParam<int> {
 protected:
  RecognizerExitTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Never destroyed, but still referenced, so that the address sanitizer reports no leak.
Recognizer& MakeRecognizer() {
  static Recognizer& recognizer = *new Recognizer(Tiny(), Workers(4, 2, 60));
  return recognizer;
}

using Streams = std::vector<std::shared_ptr<LiveStream>>;

// Enough work for the rest of the process.
Streams& OpenBusyStreams(Recognizer* recognizer, const UpdateCallback& on_update) {
  const std::vector<float> samples = NoiseOfChangingLevel(400000, 1);
  static Streams& streams = *new Streams;
  for (int64_t chunk_size : {1, 2, 4, 8, 16, 100}) {
    streams.push_back(recognizer->Open(Options(chunk_size, 16), on_update));
    streams.back()->AcceptSamples(samples.data(), samples.size());
  }
  return streams;
}

TEST_P(RecognizerExitTest, AtOnce) {
  const auto end = [] {
    MakeRecognizer();
    std::exit(kStatus);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

TEST_P(RecognizerExitTest, WhileStreamsAreDecoded) {
  const auto end = [] {
    std::promise<void> several;
    std::atomic<int> num_updates{0};
    OpenBusyStreams(&MakeRecognizer(), [&](LiveStream& /*stream*/, const LiveUpdate& /*update*/) {
      if (++num_updates == 10) several.set_value();
    });
    several.get_future().wait();
    std::exit(kStatus);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

TEST_P(RecognizerExitTest, FromACallback) {
  const auto end = [] {
    OpenBusyStreams(&MakeRecognizer(), [](LiveStream& /*stream*/, const LiveUpdate& update) {
      static std::atomic<bool> is_exiting{false};
      if (update.audio_ms > 1000 && !is_exiting.exchange(true)) std::exit(kStatus);
    });
    std::promise<void>().get_future().wait();  // for ever
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

TEST_P(RecognizerExitTest, WhileACallbackNeverReturns) {
  const auto end = [] {
    std::promise<void> called;
    std::atomic<bool> is_called{false};
    OpenBusyStreams(&MakeRecognizer(), [&](LiveStream& /*stream*/, const LiveUpdate& /*update*/) {
      if (!is_called.exchange(true)) called.set_value();
      std::promise<void>().get_future().wait();
    });
    called.get_future().wait();
    std::exit(kStatus);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

// Made before the gate is registered, so destroyed after it has closed: the workers still end.
struct GlobalRecognizer {
  ~GlobalRecognizer() {
    streams.clear();
    recognizer.reset();
  }
  std::unique_ptr<Recognizer> recognizer;
  Streams streams;
};

TEST_P(RecognizerExitTest, WithAGlobalRecognizer) {
  const auto end = [] {
    static GlobalRecognizer global;
    global.recognizer = std::make_unique<Recognizer>(Tiny(), Workers(4, 2, 60));
    static std::promise<void> one;
    static std::atomic<bool> is_told{false};
    global.streams = OpenBusyStreams(global.recognizer.get(),
                                     [](LiveStream& /*stream*/, const LiveUpdate& /*update*/) {
                                       if (!is_told.exchange(true)) one.set_value();
                                     });
    one.get_future().wait();
    std::exit(kStatus);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

TEST_P(RecognizerExitTest, FromACallbackOfAGlobalRecognizer) {
  const auto end = [] {
    static GlobalRecognizer global;
    global.recognizer = std::make_unique<Recognizer>(Tiny(), Workers(4, 2, 60));
    // Before that the recognizer is in use here. Not destroyed: callbacks go on while exit() runs.
    static std::promise<void>& opened = *new std::promise<void>;
    static const auto& are_open = *new std::shared_future<void>(opened.get_future().share());
    OpenBusyStreams(global.recognizer.get(),
                    [](LiveStream& /*stream*/, const LiveUpdate& /*update*/) {
                      static std::atomic<bool> is_exiting{false};
                      are_open.wait();
                      if (!is_exiting.exchange(true)) std::exit(kStatus);
                    });
    opened.set_value();
    std::promise<void>().get_future().wait();  // for ever
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(kStatus), "");
}

INSTANTIATE_TEST_SUITE_P(Times, RecognizerExitTest, ::testing::Range(0, 5));

}  // namespace
}  // namespace runnel
