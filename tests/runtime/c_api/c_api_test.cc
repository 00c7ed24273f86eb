// The C interface: models, options, errors, NULLs, and handles that outlive others.
#include "runtime/c_api.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/c_streams.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace runnel::testing {
namespace {

TEST(CApiModelTest, SaysWhatItIs) {
  EXPECT_STREQ(runnel_version(), RUNNEL_VERSION);
  EXPECT_EQ(std::to_string(RUNNEL_VERSION_MAJOR) + "." + std::to_string(RUNNEL_VERSION_MINOR) +
                "." + std::to_string(RUNNEL_VERSION_PATCH),
            RUNNEL_VERSION);
  const runnel_model* model = Digits();
  EXPECT_STREQ(runnel_model_name(model), "digits");
  EXPECT_EQ(runnel_model_sample_rate_hz(model), 16000);
  EXPECT_EQ(runnel_model_frame_ms(model), 40);
  EXPECT_GE(std::string(runnel_model_fingerprint(model)).size(), 32U);
  EXPECT_NE(std::string(runnel_model_description(model)), "");
  EXPECT_NE(runnel_model_token(model, 0), nullptr);
  EXPECT_EQ(runnel_model_token(model, -1), nullptr);
  EXPECT_EQ(runnel_model_token(model, 1000000), nullptr);
  EXPECT_EQ(runnel_model_num_languages(model), 0U);
  EXPECT_EQ(runnel_model_language(model, 0), nullptr);
}

// The message of loading a model that must fail in this way.
std::string LoadFailure(runnel_status status, const std::string& path,
                        const runnel_model_options* options = nullptr) {
  runnel_model* model = nullptr;
  std::string message = Failure(status, [&](runnel_error* error) {
    return runnel_model_load(path.c_str(), options, &model, error);
  });
  EXPECT_EQ(model, nullptr);
  return message;
}

TEST(CApiModelTest, FilesThatAreNoModelsAreBadData) {
  EXPECT_TRUE(Contains(LoadFailure(RUNNEL_BAD_DATA, "no_such_file.pt"), "no_such_file.pt"));
  EXPECT_TRUE(
      Contains(LoadFailure(RUNNEL_BAD_DATA, DigitsFile("words.txt")), DigitsFile("words.txt")));
}

TEST(CApiModelTest, OptionsOutOfRangeAreNamed) {
  struct Case {
    int32_t runnel_model_options::*field;
    const char* name;
  };
  for (const Case& bad :
       {Case{&runnel_model_options::precision, "precision"},
        Case{&runnel_model_options::backend, "backend"},
        Case{&runnel_model_options::bfloat16_cache, "bfloat16_cache"},
        Case{&runnel_model_options::dynamic_chunk_convolution, "dynamic_chunk_convolution"},
        Case{&runnel_model_options::running_normalization, "running_normalization"},
        Case{&runnel_model_options::step_threads, "step_threads"}}) {
    for (const int32_t value : {-1, 77, std::numeric_limits<int32_t>::min()}) {
      runnel_model_options options;
      runnel_model_options_init(&options, sizeof options);
      options.*bad.field = value;
      EXPECT_TRUE(Contains(LoadFailure(RUNNEL_INVALID_ARGUMENT, DigitsFile("digits.pt"), &options),
                           std::string(bad.name) + " is " + std::to_string(value) + ", expected "));
    }
  }
}

TEST(CApiModelTest, PrecisionsAreModelsOfTheirOwn) {
  runnel_model_options options;
  runnel_model_options_init(&options, sizeof options);
  options.precision = RUNNEL_INT8;
  runnel_model* loaded = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_model_load(DigitsFile("digits.pt").c_str(), &options, &loaded, error);
  });
  const OwnedModel model(loaded);
  EXPECT_STRNE(runnel_model_fingerprint(model.get()), runnel_model_fingerprint(Digits()));
}

// A program that was compiled with the header of 0.2.0, where the struct ends before step_threads.
TEST(CApiModelTest, OptionsOfTheFirstReleaseAreTaken) {
  constexpr size_t kFirstSize = offsetof(runnel_model_options, step_threads);
  // As large as that struct and no larger, so that a sanitizer reports accesses beyond it.
  std::vector<char> bytes(kFirstSize);
  auto* options = reinterpret_cast<runnel_model_options*>(bytes.data());
  runnel_model_options_init(options, kFirstSize);
  EXPECT_EQ(options->struct_size, kFirstSize);
  runnel_model* loaded = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_model_load(DigitsFile("digits.pt").c_str(), options, &loaded, error);
  });
  const OwnedModel model(loaded);
  EXPECT_STREQ(runnel_model_fingerprint(model.get()), runnel_model_fingerprint(Digits()));
}

TEST(CApiErrorTest, IsSetByEveryCall) {
  const OwnedError error(runnel_error_create());
  EXPECT_EQ(runnel_error_status(error.get()), RUNNEL_OK);
  EXPECT_STREQ(runnel_error_message(error.get()), "");
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  EXPECT_EQ(runnel_stream_notify_room(stream.get(), nullptr, nullptr, error.get()),
            RUNNEL_INVALID_ARGUMENT);
  EXPECT_STREQ(runnel_error_message(error.get()), "on_room is NULL");
  EXPECT_EQ(runnel_stream_finish(stream.get(), error.get()), RUNNEL_OK);
  EXPECT_EQ(runnel_error_status(error.get()), RUNNEL_OK);
  EXPECT_STREQ(runnel_error_message(error.get()), "");
}

TEST(CApiErrorTest, ThreadsThatFailOnOneStreamReadTheirOwnMessages) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  const auto fail = [&](int which) {
    const OwnedError error(runnel_error_create());
    for (int i = 0; i < 2000; ++i) {
      runnel_update* update = nullptr;
      if (which == 0) {
        runnel_stream_wait(stream.get(), -1, &update, error.get());
        EXPECT_TRUE(Contains(runnel_error_message(error.get()), "timeout_ms"));
      } else {
        runnel_stream_notify_room(stream.get(), nullptr, nullptr, error.get());
        EXPECT_STREQ(runnel_error_message(error.get()), "on_room is NULL");
      }
    }
  };
  std::thread other([&] { fail(0); });
  fail(1);
  other.join();
}

TEST(CApiOptionsTest, TakeTheDefaultsOfTheCppInterface) {
  const runnel_recognizer_options recognizer = RecognizerOptionsOfC();
  EXPECT_EQ(recognizer.struct_size, sizeof recognizer);
  EXPECT_EQ(recognizer.num_threads, 1);
  EXPECT_EQ(recognizer.max_batch_streams, 16);
  EXPECT_EQ(recognizer.max_batch_wait_ms, 10);
  EXPECT_EQ(recognizer.max_buffered_s, 30);
  const runnel_stream_options stream = StreamOptionsOfC();
  EXPECT_EQ(stream.struct_size, sizeof stream);
  EXPECT_EQ(stream.chunk_size, RUNNEL_MODEL_DEFAULT);
  EXPECT_EQ(stream.left_context, RUNNEL_MODEL_DEFAULT);
  EXPECT_EQ(stream.sample_rate_hz, 0);
  EXPECT_EQ(stream.search, RUNNEL_GREEDY);
  EXPECT_EQ(stream.beam_size, 8);
  EXPECT_EQ(stream.token_beam, 20);
  EXPECT_EQ(stream.word_list, nullptr);
  EXPECT_EQ(stream.hotwords, nullptr);
  EXPECT_EQ(stream.language_model, nullptr);
  EXPECT_EQ(stream.language_model_level, RUNNEL_WORD_LEVEL);
  EXPECT_EQ(stream.language_model_weight, 0.3);
  EXPECT_EQ(stream.language_model_bonus, 1.0);
  EXPECT_EQ(stream.nbest, 1);
  EXPECT_EQ(stream.endpointing, 0);
  EXPECT_EQ(stream.reset_encoder, 0);
  EXPECT_EQ(stream.skip_silence, 0);
  EXPECT_EQ(stream.endpoint_silence_s, 1.2);
  EXPECT_EQ(stream.endpoint_initial_silence_s, 2.4);
  EXPECT_EQ(stream.endpoint_max_utterance_s, 20);
  EXPECT_EQ(stream.endpoint_blank_probability, 0.8);
  EXPECT_EQ(stream.early_text_interval, 0);
  EXPECT_EQ(stream.early_text_padding, 2);
  EXPECT_EQ(stream.on_update, nullptr);
  EXPECT_EQ(stream.head, RUNNEL_HEAD_DEFAULT);
  EXPECT_EQ(stream.max_symbols, 0);
  EXPECT_EQ(stream.ctc_weight, 0);
  EXPECT_EQ(stream.rescoring, 0);
  EXPECT_EQ(stream.first_pass_weight, 0.5);
  EXPECT_EQ(stream.reverse_weight, 0);
  EXPECT_EQ(stream.language, nullptr);
  EXPECT_EQ(runnel_hotwords_default_score(), 0.75F);
  runnel_restore_options restore;
  runnel_restore_options_init(&restore, sizeof restore);
  EXPECT_EQ(restore.struct_size, sizeof restore);
  EXPECT_EQ(restore.nbest, 0);
}

TEST(CApiOptionsTest, ForgottenInitAndNewerHeadersAreRefused) {
  const OwnedRecognizer recognizer = NewRecognizer();
  for (const size_t size :
       {size_t{0}, size_t{8}, sizeof(runnel_stream_options) + 8, size_t{1} << 40}) {
    runnel_stream_options options = StreamOptionsOfC();
    options.struct_size = size;
    runnel_stream* stream = nullptr;
    std::string message = Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
      return runnel_stream_open(recognizer.get(), &options, &stream, error);
    });
    EXPECT_TRUE(Contains(message, "runnel_stream_options.struct_size is " + std::to_string(size)));
    EXPECT_EQ(Contains(message, "newer"), size > sizeof options);
  }
}

TEST(CApiOptionsTest, StreamOptionsOutOfRangeAreRefused) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const auto refused = [&](const auto& change) {
    runnel_stream_options options = StreamOptionsOfC();
    change(&options);
    runnel_stream* stream = nullptr;
    std::string message = Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
      return runnel_stream_open(recognizer.get(), &options, &stream, error);
    });
    EXPECT_EQ(stream, nullptr);
    return message;
  };
  const auto message_of = [&](int32_t runnel_stream_options::*field, int32_t value) {
    return refused([&](runnel_stream_options* options) { options->*field = value; });
  };
  EXPECT_TRUE(Contains(message_of(&runnel_stream_options::search, 5), "search is 5"));
  EXPECT_TRUE(Contains(message_of(&runnel_stream_options::nbest, 0), "nbest is 0"));
  EXPECT_TRUE(Contains(message_of(&runnel_stream_options::sample_rate_hz, -3), "-3"));
  refused([](runnel_stream_options* options) { options->chunk_size = -5; });
  refused([](runnel_stream_options* options) { options->left_context = -5; });
  using Options = runnel_stream_options;
  for (const auto& [flag, name] : std::vector<std::pair<int32_t Options::*, std::string>>{
           {&Options::endpointing, "endpointing"},
           {&Options::reset_encoder, "reset_encoder"},
           {&Options::skip_silence, "skip_silence"},
           {&Options::rescoring, "rescoring"}}) {
    EXPECT_EQ(message_of(flag, 2), name + " is 2, expected 0 or 1");
  }
  for (const auto& [field, name] : std::vector<std::pair<double Options::*, std::string>>{
           {&Options::endpoint_silence_s, "endpoint_silence_s"},
           {&Options::endpoint_initial_silence_s, "endpoint_initial_silence_s"},
           {&Options::endpoint_max_utterance_s, "endpoint_max_utterance_s"},
           {&Options::endpoint_blank_probability, "endpoint_blank_probability"}}) {
    const auto member = field;
    for (const double value : {-1.0, 1e9, std::nan("")}) {
      EXPECT_TRUE(
          Contains(refused([&](Options* options) { options->*member = value; }), name + " is "));
    }
  }
  EXPECT_TRUE(Contains(refused([](Options* options) { options->early_text_interval = -1; }),
                       "early_text_interval is -1"));
  EXPECT_TRUE(Contains(refused([](Options* options) { options->early_text_padding = 1000; }),
                       "early_text_padding is 1000"));
}

TEST(CApiNullTest, EveryFunctionThatCanFailSaysSo) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream owned = OpenStream(recognizer);
  runnel_recognizer* r = recognizer.get();
  runnel_stream* s = owned.get();
  runnel_model* model = nullptr;
  runnel_word_list* words = nullptr;
  runnel_hotwords* hotwords = nullptr;
  runnel_language_model* language_model = nullptr;
  runnel_recognizer* made = nullptr;
  runnel_stream* stream = nullptr;
  runnel_update* update = nullptr;
  runnel_buffer* buffer = nullptr;
  runnel_recognizer_status status = {};
  runnel_token token = {};
  runnel_word word = {};
  runnel_hotword_match match = {};
  size_t accepted = 77;
  const uint8_t byte = 0;
  const std::string path = DigitsFile("digits.pt");
  for (runnel_error* error : {static_cast<runnel_error*>(nullptr), runnel_error_create()}) {
    const OwnedError owned_error(error);
    for (const runnel_status result :
         {runnel_model_load(nullptr, nullptr, &model, error),
          runnel_model_load(path.c_str(), nullptr, nullptr, error),
          runnel_word_list_load(nullptr, path.c_str(), &words, error),
          runnel_word_list_load(Digits(), nullptr, &words, error),
          runnel_word_list_load(Digits(), path.c_str(), nullptr, error),
          runnel_hotwords_load(nullptr, path.c_str(), 1, &hotwords, error),
          runnel_hotwords_load(Digits(), nullptr, 1, &hotwords, error),
          runnel_hotwords_load(Digits(), path.c_str(), 1, nullptr, error),
          runnel_hotwords_create(nullptr, "one", 1, &hotwords, error),
          runnel_hotwords_create(Digits(), nullptr, 1, &hotwords, error),
          runnel_hotwords_create(Digits(), "one", 1, nullptr, error),
          runnel_language_model_load(nullptr, &language_model, error),
          runnel_language_model_load(path.c_str(), nullptr, error),
          runnel_recognizer_create(nullptr, nullptr, &made, error),
          runnel_recognizer_create(Digits(), nullptr, nullptr, error),
          runnel_recognizer_get_status(nullptr, &status, error),
          runnel_recognizer_get_status(r, nullptr, error),
          runnel_recognizer_get_status(r, &status, error),  // its size is 0
          runnel_stream_open(nullptr, nullptr, &stream, error),
          runnel_stream_open(r, nullptr, nullptr, error),
          runnel_stream_accept_float32(nullptr, nullptr, 0, &accepted, error),
          runnel_stream_accept_float32(s, nullptr, 1, &accepted, error),
          runnel_stream_accept_float32(s, nullptr, 0, nullptr, error),
          runnel_stream_accept_int16(nullptr, nullptr, 0, &accepted, error),
          runnel_stream_accept_int16(s, nullptr, 1, &accepted, error),
          runnel_stream_accept_int16(s, nullptr, 0, nullptr, error),
          runnel_stream_notify_room(nullptr, nullptr, nullptr, error),
          runnel_stream_notify_room(s, nullptr, nullptr, error),
          runnel_stream_finalize_utterance(nullptr, error),
          runnel_stream_finish(nullptr, error),
          runnel_stream_cancel(nullptr, error),
          runnel_stream_poll(nullptr, &update, error),
          runnel_stream_poll(s, nullptr, error),
          runnel_stream_wait(nullptr, 0, &update, error),
          runnel_stream_wait(s, 0, nullptr, error),
          runnel_stream_wait(s, std::nan(""), &update, error),
          runnel_stream_snapshot(nullptr, &buffer, error),
          runnel_stream_snapshot(s, nullptr, error),
          runnel_stream_restore(nullptr, &byte, 1, nullptr, &stream, error),
          runnel_stream_restore(r, nullptr, 0, nullptr, &stream, error),
          runnel_stream_restore(r, &byte, 1, nullptr, nullptr, error),
          runnel_stream_fork(nullptr, nullptr, nullptr, &stream, error),
          runnel_stream_fork(s, nullptr, nullptr, nullptr, error),
          runnel_update_token(nullptr, 0, &token, error),
          runnel_update_copy(nullptr, &update, error),
          runnel_hypothesis_token(nullptr, 0, &token, error),
          runnel_hypothesis_word(nullptr, 0, &word, error),
          runnel_hypothesis_hotword(nullptr, 0, &match, error)}) {
      EXPECT_EQ(result, RUNNEL_INVALID_ARGUMENT);
    }
  }
  EXPECT_EQ(accepted, 0U);
}

TEST(CApiNullTest, EveryOtherFunctionAnswersNothing) {
  runnel_error_free(nullptr);
  runnel_model_free(nullptr);
  runnel_word_list_free(nullptr);
  runnel_hotwords_free(nullptr);
  runnel_language_model_free(nullptr);
  runnel_recognizer_free(nullptr);
  runnel_stream_close(nullptr);
  runnel_update_free(nullptr);
  runnel_buffer_free(nullptr);
  runnel_model_options_init(nullptr, 100);
  runnel_recognizer_options_init(nullptr, 100);
  runnel_stream_options_init(nullptr, 100);
  runnel_restore_options_init(nullptr, 100);
  EXPECT_EQ(runnel_error_status(nullptr), RUNNEL_OK);
  for (const char* text :
       {runnel_error_message(nullptr), runnel_model_name(nullptr),
        runnel_model_fingerprint(nullptr), runnel_model_description(nullptr),
        runnel_update_stable_text(nullptr), runnel_update_tentative_text(nullptr),
        runnel_update_error(nullptr), runnel_hypothesis_text(nullptr)}) {
    EXPECT_STREQ(text, "");
  }
  EXPECT_EQ(runnel_model_token(nullptr, 0), nullptr);
  EXPECT_EQ(runnel_model_language(nullptr, 0), nullptr);
  EXPECT_EQ(runnel_model_num_languages(nullptr), 0U);
  EXPECT_EQ(runnel_buffer_data(nullptr), nullptr);
  EXPECT_EQ(runnel_update_utterance(nullptr, 0), nullptr);
  EXPECT_EQ(runnel_utterance_hypothesis(nullptr, 0), nullptr);
  EXPECT_EQ(runnel_model_sample_rate_hz(nullptr), 0);
  EXPECT_EQ(runnel_model_frame_ms(nullptr), 0);
  EXPECT_EQ(runnel_stream_room(nullptr), 0U);
  EXPECT_EQ(runnel_stream_is_over(nullptr), 1);
  EXPECT_EQ(runnel_stream_num_samples(nullptr), 0);
  EXPECT_EQ(runnel_stream_sample_rate_hz(nullptr), 0);
  EXPECT_EQ(runnel_stream_chunk_size(nullptr), 0);
  EXPECT_EQ(runnel_stream_left_context(nullptr), 0);
  EXPECT_EQ(runnel_stream_right_context(nullptr), 0);
  EXPECT_EQ(runnel_stream_cached_windows(nullptr), 0);
  EXPECT_EQ(runnel_buffer_size(nullptr), 0U);
  EXPECT_EQ(runnel_update_stable_size_before(nullptr), 0U);
  EXPECT_EQ(runnel_update_audio_ms(nullptr), 0);
  EXPECT_EQ(runnel_update_latency_ms(nullptr), 0);
  EXPECT_EQ(runnel_update_is_final(nullptr), 0);
  EXPECT_EQ(runnel_update_num_tokens(nullptr), 0U);
  EXPECT_EQ(runnel_update_num_stable_tokens(nullptr), 0U);
  EXPECT_EQ(runnel_update_stable_tokens_before(nullptr), 0U);
  EXPECT_EQ(runnel_update_num_utterances(nullptr), 0U);
  EXPECT_EQ(runnel_update_utterance_index(nullptr), 0);
  EXPECT_EQ(runnel_utterance_index(nullptr), 0);
  EXPECT_EQ(runnel_utterance_start_ms(nullptr), 0);
  EXPECT_EQ(runnel_utterance_end_ms(nullptr), 0);
  EXPECT_EQ(runnel_utterance_searched_ms(nullptr), 0);
  EXPECT_EQ(runnel_utterance_end(nullptr), RUNNEL_END_BY_FINISH);
  EXPECT_EQ(runnel_utterance_num_hypotheses(nullptr), 0U);
  EXPECT_EQ(runnel_hypothesis_confidence(nullptr), 0);
  EXPECT_EQ(runnel_hypothesis_score(nullptr), 0);
  EXPECT_EQ(runnel_hypothesis_num_tokens(nullptr), 0U);
  EXPECT_EQ(runnel_hypothesis_num_words(nullptr), 0U);
  EXPECT_EQ(runnel_hypothesis_num_hotwords(nullptr), 0U);
}

TEST(CApiLifetimeTest, HandlesKeepWhatTheyNeed) {
  runnel_model* loaded = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_model_load(DigitsFile("digits.pt").c_str(), nullptr, &loaded, error);
  });
  OwnedModel model(loaded);
  runnel_word_list* list = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_word_list_load(model.get(), DigitsFile("words.txt").c_str(), &list, error);
  });
  OwnedWordList word_list(list);
  runnel_recognizer* made = nullptr;
  Succeed([&](runnel_error* error) {
    return runnel_recognizer_create(model.get(), nullptr, &made, error);
  });
  const OwnedRecognizer recognizer(made);
  model.reset();
  runnel_stream_options options = StreamOptionsOfC();
  options.search = RUNNEL_PREFIX_BEAM;
  options.word_list = word_list.get();
  const OwnedStream stream = OpenStream(recognizer, &options);
  word_list.reset();
  Send(stream, Recording(), 0, Recording().size());
  Finish(stream);
  EXPECT_EQ(PollToEnd(stream).text, kTranscript);
}

TEST(CApiLifetimeTest, StreamsOutliveTheirRecognizerCancelled) {
  OwnedRecognizer recognizer = NewRecognizer();
  const OwnedStream stream = OpenStream(recognizer);
  Send(stream, Recording(), 0, 3000);
  recognizer.reset();
  EXPECT_EQ(runnel_stream_is_over(stream.get()), 1);
  EXPECT_EQ(runnel_stream_room(stream.get()), 0U);
  EXPECT_EQ(runnel_stream_num_samples(stream.get()), 3000);
  runnel_update* update = nullptr;
  Succeed(
      [&](runnel_error* error) { return runnel_stream_wait(stream.get(), 1e300, &update, error); });
  EXPECT_EQ(update, nullptr);
  runnel_buffer* snapshot = nullptr;
  Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
    return runnel_stream_snapshot(stream.get(), &snapshot, error);
  });
  runnel_stream* fork = nullptr;
  Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
    return runnel_stream_fork(stream.get(), nullptr, nullptr, &fork, error);
  });
}

}  // namespace
}  // namespace runnel::testing
