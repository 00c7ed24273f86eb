// Head, rescoring and language of streams through the C interface.
#include <gtest/gtest.h>

#include "runtime/c_api.h"
#include "tests/support/c_streams.h"
#include "tests/support/error_message.h"

namespace runnel::testing {
namespace {

// The digit model has the CTC head only, no attention decoder and no language prompt.
TEST(CApiHeadsTest, OptionsThatTheModelDoesNotHaveAreRefused) {
  const OwnedRecognizer recognizer = NewRecognizer();
  const auto refused = [&](const auto& change) {
    runnel_stream_options options = StreamOptionsOfC();
    options.search = RUNNEL_PREFIX_BEAM;
    change(&options);
    runnel_stream* stream = nullptr;
    return Failure(RUNNEL_INVALID_ARGUMENT, [&](runnel_error* error) {
      return runnel_stream_open(recognizer.get(), &options, &stream, error);
    });
  };
  using Options = runnel_stream_options;
  EXPECT_EQ(refused([](Options* options) { options->head = 3; }), "head is 3, expected 0 to 2");
  EXPECT_EQ(refused([](Options* options) { options->head = RUNNEL_HEAD_TRANSDUCER; }),
            "head is transducer, but the model has only a CTC head");
  EXPECT_TRUE(Contains(refused([](Options* options) { options->search = RUNNEL_MODIFIED_BEAM; }),
                       "is of transducers, got the CTC head"));
  EXPECT_EQ(refused([](Options* options) { options->max_symbols = 3; }),
            "max_symbols is of transducers, got the CTC head");
  EXPECT_EQ(refused([](Options* options) { options->ctc_weight = 0.5; }),
            "ctc_weight is of transducers, got the CTC head");
  EXPECT_EQ(refused([](Options* options) { options->rescoring = 1; }),
            "rescoring is on, but the model has no attention decoder");
  EXPECT_EQ(refused([](Options* options) {
              options->rescoring = 1;
              options->search = RUNNEL_GREEDY;
            }),
            "rescoring needs search=beam");
  EXPECT_TRUE(Contains(refused([](Options* options) { options->first_pass_weight = -1; }),
                       "first_pass_weight is -1, expected 0 to 100"));
  EXPECT_TRUE(Contains(refused([](Options* options) { options->reverse_weight = 2; }),
                       "reverse_weight is 2, expected 0 to 1"));
  EXPECT_EQ(refused([](Options* options) { options->language = "en-US"; }),
            "language is 'en-US', expected none: the model has no language prompt");
}

TEST(CApiHeadsTest, TheCtcHeadMayBeNamed) {
  const OwnedRecognizer recognizer = NewRecognizer();
  runnel_stream_options options = StreamOptionsOfC();
  options.head = RUNNEL_HEAD_CTC;
  options.language = "";
  EXPECT_EQ(DecodeRecording(recognizer, &options).text, kTranscript);
}

}  // namespace
}  // namespace runnel::testing
