// Streams through the C interface, for its tests: owning handles, and a sample
// recording with its transcript.
#ifndef RUNNEL_TESTS_SUPPORT_C_STREAMS_H_
#define RUNNEL_TESTS_SUPPORT_C_STREAMS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/c_api.h"

namespace runnel::testing {

template <typename Handle, void (*give_back)(Handle*)>
struct GivesBack {
  void operator()(Handle* handle) const { give_back(handle); }
};
template <typename Handle, void (*give_back)(Handle*)>
using Owned = std::unique_ptr<Handle, GivesBack<Handle, give_back>>;

using OwnedError = Owned<runnel_error, runnel_error_free>;
using OwnedModel = Owned<runnel_model, runnel_model_free>;
using OwnedWordList = Owned<runnel_word_list, runnel_word_list_free>;
using OwnedHotwords = Owned<runnel_hotwords, runnel_hotwords_free>;
using OwnedLanguageModel = Owned<runnel_language_model, runnel_language_model_free>;
using OwnedRecognizer = Owned<runnel_recognizer, runnel_recognizer_free>;
using OwnedStream = Owned<runnel_stream, runnel_stream_close>;
using OwnedUpdate = Owned<runnel_update, runnel_update_free>;
using OwnedBuffer = Owned<runnel_buffer, runnel_buffer_free>;

// Waits for a callback; the time is only a guard against hanging.
class Signal {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// Fails the test with the message when `call`, given an error to fill, does not succeed.
template <typename Function>
void Succeed(const Function& call) {
  const OwnedError error(runnel_error_create());
  ASSERT_EQ(call(error.get()), RUNNEL_OK) << runnel_error_message(error.get());
  EXPECT_STREQ(runnel_error_message(error.get()), "");
}

// The message of a call that must fail in this way.
template <typename Function>
std::string Failure(runnel_status status, const Function& call) {
  const OwnedError error(runnel_error_create());
  EXPECT_EQ(call(error.get()), status) << runnel_error_message(error.get());
  EXPECT_EQ(runnel_error_status(error.get()), status);
  const std::string message = runnel_error_message(error.get());
  EXPECT_FALSE(message.empty());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

inline std::string DigitsFile(const std::string& name) {
  return std::string(RUNNEL_SOURCE_DIR) + "/models/digits/" + name;
}

// Loaded once per process.
inline const runnel_model* Digits() {
  static const OwnedModel model = [] {
    runnel_model* loaded = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_model_load(DigitsFile("digits.pt").c_str(), nullptr, &loaded, error);
    });
    return OwnedModel(loaded);
  }();
  return model.get();
}

inline OwnedHotwords NewHotwords(const std::string& text, float default_score) {
  runnel_hotwords* hotwords = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_hotwords_create(Digits(), text.c_str(), default_score, &hotwords, error);
  });
  return OwnedHotwords(hotwords);
}

inline OwnedLanguageModel LoadLanguageModel(const std::string& path) {
  runnel_language_model* loaded = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_language_model_load(path.c_str(), &loaded, error);
  });
  return OwnedLanguageModel(loaded);
}

// A recording of 3.1 s at the model's rate, and what is said.
inline const std::vector<float>& Recording() {
  static const std::vector<float> samples = [] {
    AudioSource audio(DigitsFile("samples/rms_phone_number.flac"),
                      runnel_model_sample_rate_hz(Digits()));
    std::vector<float> all(100000);
    all.resize(audio.Read(all.data(), all.size()));
    return all;
  }();
  return samples;
}
constexpr char kTranscript[] = "five five five zero one four two";

inline runnel_recognizer_options RecognizerOptionsOfC() {
  runnel_recognizer_options options;
  runnel_recognizer_options_init(&options, sizeof options);
  return options;
}

inline runnel_stream_options StreamOptionsOfC() {
  runnel_stream_options options;
  runnel_stream_options_init(&options, sizeof options);
  return options;
}

inline OwnedRecognizer NewRecognizer(const runnel_recognizer_options* options = nullptr) {
  runnel_recognizer* recognizer = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_recognizer_create(Digits(), options, &recognizer, error);
  });
  return OwnedRecognizer(recognizer);
}

inline OwnedStream OpenStream(const OwnedRecognizer& recognizer,
                              const runnel_stream_options* options = nullptr) {
  runnel_stream* stream = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_stream_open(recognizer.get(), options, &stream, error);
  });
  return OwnedStream(stream);
}

// All samples from `begin` to `end`, for which there must be room.
inline void Send(const OwnedStream& stream, const std::vector<float>& samples, size_t begin,
                 size_t end) {
  size_t accepted = 0;
  Succeed([&](runnel_error* error) {
    return runnel_stream_accept_float32(stream.get(), samples.data() + begin, end - begin,
                                        &accepted, error);
  });
  ASSERT_EQ(accepted, end - begin);
}

inline void Finish(const OwnedStream& stream) {
  Succeed([&](runnel_error* error) { return runnel_stream_finish(stream.get(), error); });
}

inline runnel_token TokenOf(const runnel_hypothesis* hypothesis, size_t index) {
  runnel_token token = {};
  token.struct_size = sizeof token;
  Succeed([&](runnel_error* error) {
    return runnel_hypothesis_token(hypothesis, index, &token, error);
  });
  return token;
}

// The contents of all updates of a stream.
struct Received {
  std::string text;
  std::string stable_text;
  std::vector<float> confidences;  // of the final hypothesis' tokens
  std::string error;
  bool is_final = false;
};

inline void Add(const runnel_update* update, Received* received) {
  ASSERT_FALSE(received->is_final) << "an update after the final one";
  const size_t before = runnel_update_stable_size_before(update);
  ASSERT_EQ(before, received->stable_text.size());
  received->stable_text += runnel_update_stable_text(update);
  received->text = received->stable_text + runnel_update_tentative_text(update);
  received->error = runnel_update_error(update);
  received->is_final = runnel_update_is_final(update) == 1;
  const size_t num_utterances = runnel_update_num_utterances(update);
  const runnel_utterance* last = runnel_update_utterance(update, num_utterances - 1);
  const runnel_hypothesis* best = runnel_utterance_hypothesis(last, 0);
  for (size_t i = 0; i < runnel_hypothesis_num_tokens(best); ++i) {
    received->confidences.push_back(TokenOf(best, i).confidence);
  }
  if (best != nullptr) {
    EXPECT_EQ(received->text, runnel_hypothesis_text(best));
  }
}

// Polls a finished stream to its end.
inline Received PollToEnd(const OwnedStream& stream) {
  Received received;
  while (!received.is_final && !::testing::Test::HasFatalFailure()) {
    constexpr double kGuardMs = 60000;
    runnel_update* polled = nullptr;
    Succeed([&](runnel_error* error) {
      return runnel_stream_wait(stream.get(), kGuardMs, &polled, error);
    });
    const OwnedUpdate update(polled);
    if (update == nullptr) {
      ADD_FAILURE() << "no final update";
      return received;
    }
    Add(update.get(), &received);
  }
  EXPECT_EQ(runnel_stream_is_over(stream.get()), 1);
  return received;
}

// The result of a stream that gets the whole recording without interruption.
inline Received DecodeRecording(const OwnedRecognizer& recognizer,
                                const runnel_stream_options* options = nullptr) {
  const OwnedStream stream = OpenStream(recognizer, options);
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  return PollToEnd(stream);
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_C_STREAMS_H_
