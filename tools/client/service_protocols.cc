#include "tools/client/service_protocols.h"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/client/protocol_messages.h"

namespace runnel::client {
namespace {

using Json = nlohmann::json;
using Kind = ServerMessage::Kind;

class DeepgramProtocol : public ClientProtocol {
 public:
  std::string Target(const StartOptions& options) const override {
    return "v1/listen?encoding=linear16&interim_results=true&sample_rate=" +
           std::to_string(options.sample_rate_hz);
  }
  bool announces_rate() const override { return true; }
  void OnConnect() override { text_.clear(); }
  int64_t num_utterances() const override { return 0; }
  std::string StartMessage(const StartOptions& /*options*/) const override { return ""; }
  bool AnswersStart() const override { return false; }
  std::string EndOfSpeechMessage() override { return R"({"type":"Finalize"})"; }
  std::string FinishMessage() override { return R"({"type":"CloseStream"})"; }

  ServerMessage Read(std::string_view message) override {
    return ReadFields(message, [this](const Json& object) { return ReadObject(object); });
  }

 private:
  ServerMessage ReadObject(const Json& object) {
    const std::string type = object.at("type");
    ServerMessage read;
    if (type == "Metadata") {
      read.kind = Kind::kFinal;
      read.text = text_;
    } else if (type == "Results") {
      const std::string transcript = object.at("channel").at("alternatives").at(0).at("transcript");
      if (object.at("is_final").get<bool>()) {
        read.kind = Kind::kUtterance;
        read.utterance = transcript;
        read.answers_end_of_speech = object.at("from_finalize").get<bool>();
        AppendSegment(transcript, &text_);
      } else {
        read.kind = Kind::kPartial;
        read.text = text_;
        AppendSegment(transcript, &read.text);
      }
    }
    return read;
  }

  std::string text_;  // of the utterances that have ended
};

std::string Base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock appends a NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

// The client ends every utterance (a commit), because the items that the server ends could not be
// told from those of commits.
class OpenAiProtocol : public ClientProtocol {
 public:
  std::string Target(const StartOptions& /*options*/) const override {
    return "v1/realtime?intent=transcription";
  }
  bool announces_rate() const override { return true; }
  void OnConnect() override {
    text_.clear();
    item_text_.clear();
    num_commits_ = 0;
    is_finishing_ = false;
  }
  int64_t num_utterances() const override { return 0; }

  std::string StartMessage(const StartOptions& options) const override {
    const Json format = {{"type", "audio/pcm"}, {"rate", options.sample_rate_hz}};
    const Json input = {{"format", format}, {"turn_detection", nullptr}};
    const Json session = {{"type", "transcription"}, {"audio", {{"input", input}}}};
    return Json{{"type", "session.update"}, {"session", session}}.dump();
  }
  bool AnswersStart() const override { return true; }

  MessageToSend AudioMessage(std::string bytes) const override {
    return {/*is_text=*/true,
            R"({"type":"input_audio_buffer.append","audio":")" + Base64(bytes) + R"("})"};
  }
  std::string EndOfSpeechMessage() override {
    ++num_commits_;
    return R"({"type":"input_audio_buffer.commit"})";
  }
  // There is no event for the end of the audio.
  std::string FinishMessage() override {
    is_finishing_ = true;
    return EndOfSpeechMessage();
  }

  ServerMessage Read(std::string_view message) override {
    return ReadFields(message, [this](const Json& object) { return ReadObject(object); });
  }

 private:
  ServerMessage ReadObject(const Json& object) {
    constexpr std::string_view kTranscription = "conversation.item.input_audio_transcription.";
    const std::string type = object.at("type");
    ServerMessage read;
    if (type == "session.updated") {
      read.kind = Kind::kReady;
    } else if (type == std::string(kTranscription) + "delta") {
      item_text_ += object.at("delta").get_ref<const std::string&>();
      read.kind = Kind::kPartial;
      read.text = text_;
      AppendSegment(item_text_, &read.text);
    } else if (type == std::string(kTranscription) + "completed") {
      read.kind = Kind::kUtterance;
      read.utterance = object.at("transcript").get<std::string>();
      read.answers_end_of_speech = true;
      AppendSegment(*read.utterance, &text_);
      item_text_.clear();
      EndCommit(&read);
    } else if (type == "error") {
      const Json& error = object.at("error");
      read.code = error.at("code");
      read.text = error.at("message");
      read.kind = Kind::kError;
      if (read.code == "input_audio_buffer_commit_empty") {  // all that was sent has its item
        read.kind = Kind::kOther;
        EndCommit(&read);
      }
    }
    return read;
  }

  void EndCommit(ServerMessage* read) {
    if (--num_commits_ > 0 || !is_finishing_) return;
    read->kind = Kind::kFinal;
    read->text = text_;
  }

  std::string text_;         // of the items that are complete
  std::string item_text_;    // of the present one
  int64_t num_commits_ = 0;  // that are not answered
  bool is_finishing_ = false;
};

}  // namespace

std::unique_ptr<ClientProtocol> MakeDeepgramProtocol() {
  return std::make_unique<DeepgramProtocol>();
}

std::unique_ptr<ClientProtocol> MakeOpenAiProtocol() { return std::make_unique<OpenAiProtocol>(); }

}  // namespace runnel::client
