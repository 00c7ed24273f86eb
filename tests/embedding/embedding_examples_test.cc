// The short examples of docs/embedding.md open streams that recognise a sample.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "runtime/recognizer.h"
#include "runtime/stream.h"
#include "tests/support/temporary_folder.h"

std::shared_ptr<runnel::LiveStream> OpenWithEndpoints(
    runnel::Recognizer* recognizer,
    const std::function<void(const runnel::Utterance&)>& on_utterance);
std::shared_ptr<runnel::LiveStream> OpenWithHotwords(runnel::Recognizer* recognizer,
                                                     const std::string& phrases);
runnel::StreamOptions OptionsWithLanguageModel(const runnel::Model& model, const std::string& path);
std::shared_ptr<runnel::LiveStream> OpenWithEarlyText(runnel::Recognizer* recognizer);

namespace runnel::testing {
namespace {

const std::string kDigits = std::string(RUNNEL_SOURCE_DIR) + "/models/digits/";
constexpr char kTranscript[] = "five five five zero one four two";

class EmbeddingExamplesTest : public ::testing::Test {
 protected:
  static void Send(const std::shared_ptr<LiveStream>& stream) {
    AudioSource audio(kDigits + "samples/rms_phone_number.flac", 16000);
    std::vector<float> samples(100000);
    samples.resize(audio.Read(samples.data(), samples.size()));
    ASSERT_EQ(stream->AcceptSamples(samples.data(), samples.size()), samples.size());
    stream->Finish();
  }

  static std::string TextOf(const std::shared_ptr<LiveStream>& stream) {
    Send(stream);
    LiveUpdate update;
    while (!update.is_final) {
      constexpr double kGuardMs = 60000;
      if (!stream->WaitForUpdate(kGuardMs) || !stream->Poll(&update)) return "no final update";
    }
    return update.utterances.back().nbest.front().text;
  }

  Recognizer recognizer_{Model::Load(kDigits + "digits.pt")};
};

TEST_F(EmbeddingExamplesTest, Utterances) {
  const auto text = std::make_shared<std::promise<std::string>>();
  const auto stream = OpenWithEndpoints(&recognizer_, [text](const Utterance& utterance) {
    text->set_value(utterance.nbest.front().text);
  });
  Send(stream);
  EXPECT_EQ(text->get_future().get(), kTranscript);
}

TEST_F(EmbeddingExamplesTest, Hotwords) {
  EXPECT_EQ(TextOf(OpenWithHotwords(&recognizer_, "five five five\nfour two :1.5\n")), kTranscript);
}

TEST_F(EmbeddingExamplesTest, LanguageModel) {
  const TemporaryFolder folder;
  const std::string path = folder.File("digits.arpa");
  std::ofstream(path) << "\\data\\\nngram 1=6\n\n\\1-grams:\n-99 <s>\n-1 </s>\n-1 five\n-1 zero\n"
                         "-1 one\n-1 four\n\n\\end\\\n";
  const StreamOptions options = OptionsWithLanguageModel(*recognizer_.model(), path);
  EXPECT_EQ(TextOf(recognizer_.Open(options)).substr(0, 14), "five five five");
}

TEST_F(EmbeddingExamplesTest, EarlyText) {
  EXPECT_EQ(TextOf(OpenWithEarlyText(&recognizer_)), kTranscript);
}

}  // namespace
}  // namespace runnel::testing
