#include "tools/client/client_protocol.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/client/protocol_messages.h"
#include "tools/client/service_protocols.h"

namespace runnel::client {
namespace {

using Json = nlohmann::json;
using Kind = ServerMessage::Kind;

// Bytes of the first `num_characters` Unicode characters.
size_t SizeOfCharacters(const std::string& text, size_t num_characters) {
  size_t size = 0;
  for (; size < text.size(); ++size) {
    if ((static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) continue;  // within a character
    if (num_characters-- == 0) break;
  }
  return size;
}

class RunnelProtocol : public ClientProtocol {
 public:
  void OnConnect() override { stable_text_.clear(); }
  int64_t num_utterances() const override { return num_utterances_; }

  std::string StartMessage(const StartOptions& options) const override {
    Json start = {{"type", "start"},
                  {"version", 1},
                  {"sample_rate", options.sample_rate_hz},
                  {"encoding", NameOf(options.encoding)},
                  {"resume", options.wants_snapshots},
                  {"tokens", false}};
    if (options.chunk_size.has_value()) start["chunk_size"] = *options.chunk_size;
    if (options.left_context.has_value()) start["left_context"] = *options.left_context;
    if (options.right_context.has_value()) start["right_context"] = *options.right_context;
    if (options.cached_windows) start["cached_windows"] = true;
    if (options.endpointing) start["endpointing"] = true;
    if (!options.fields.empty()) start.update(Json::parse(options.fields));
    return start.dump();
  }

  bool announces_rate() const override { return true; }
  std::string EndOfSpeechMessage() override { return R"({"type":"flush"})"; }
  std::string FinishMessage() override { return R"({"type":"finish"})"; }
  bool AnswersStart() const override { return true; }

  ServerMessage Read(std::string_view message) override {
    return ReadFields(message, [this](const Json& object) { return ReadObject(object); });
  }

 private:
  ServerMessage ReadObject(const Json& object) {
    const std::string type = object.at("type");
    ServerMessage read;
    if (type == "ready" || type == "resumed") {
      read.kind = Kind::kReady;
      read.num_samples = object.value("samples", int64_t{0});
      read.look_ahead_ms = object.value("look_ahead_ms", -1.0);
      // The server may have lost some.
      num_utterances_ = std::max(num_utterances_, object.value("utterances", int64_t{0}));
    } else if (type == "utterance") {
      if (object.at("index") < num_utterances_) return read;  // of a stream that began anew
      read.kind = Kind::kUtterance;
      read.answers_end_of_speech = object.value("end", "") == "flush";
      EndUtterance(object, &read);
    } else if (type == "flushed") {
      read.answers_end_of_speech = true;
    } else if (type == "partial") {
      if (object.value("utterance", int64_t{0}) < num_utterances_) return read;
      read.kind = Kind::kPartial;
      read.audio_ms = object.at("audio_ms");
      read.latency_ms = object.at("latency_ms");
      stable_text_.resize(SizeOfCharacters(stable_text_, object.at("stable_offset")));
      stable_text_ += object.at("stable_text").get_ref<const std::string&>();
      read.text = stable_text_ + object.at("tentative_text").get_ref<const std::string&>();
    } else if (type == "snapshot") {
      read.kind = Kind::kSnapshot;
      read.text = object.at("token");
      read.num_samples = object.at("samples");
    } else if (type == "final") {
      read.kind = Kind::kFinal;
      read.latency_ms = object.value("latency_ms", -1.0);
      EndUtterance(object, &read);
      read.text = ended_text_;
    } else if (type == "error") {
      read.kind = Kind::kError;
      read.code = object.at("code");
      read.text = object.at("message");
    }
    return read;
  }

  void EndUtterance(const Json& object, ServerMessage* read) {
    read->utterance = object.at("text").get<std::string>();
    AppendSegment(*read->utterance, &ended_text_);
    ++num_utterances_;
    stable_text_.clear();
  }

  std::string ended_text_;      // of the utterances that have ended
  int64_t num_utterances_ = 0;  // that have ended
  std::string stable_text_;     // of the present one
};

class WenetProtocol : public ClientProtocol {
 public:
  void OnConnect() override { text_.clear(); }
  int64_t num_utterances() const override { return 0; }
  std::string StartMessage(const StartOptions& options) const override {
    return Json{{"signal", "start"}, {"nbest", 1}, {"continuous_decoding", options.endpointing}}
        .dump();
  }
  std::string FinishMessage() override { return R"({"signal":"end"})"; }
  bool AnswersStart() const override { return true; }

  ServerMessage Read(std::string_view message) override {
    return ReadFields(message, [this](const Json& object) { return ReadObject(object); });
  }

 private:
  ServerMessage ReadObject(const Json& object) {
    ServerMessage read;
    if (object.at("status") != "ok") {
      read.kind = Kind::kError;
      read.code = "failed";
      read.text = object.at("message");
      return read;
    }
    const std::string type = object.at("type");
    if (type == "server_ready") {
      read.kind = Kind::kReady;
    } else if (type == "partial_result") {
      read.kind = Kind::kPartial;
      read.text = text_;
      AppendSegment(BestSentence(object), &read.text);
    } else if (type == "final_result") {
      read.kind = Kind::kUtterance;
      read.utterance = BestSentence(object);
      AppendSegment(*read.utterance, &text_);
    } else if (type == "speech_end") {
      read.kind = Kind::kFinal;
      read.text = text_;
    }
    return read;
  }

  // The n-best list is JSON within a string of the JSON.
  static std::string BestSentence(const Json& object) {
    const Json nbest = Json::parse(object.at("nbest").get_ref<const std::string&>());
    return nbest.empty() ? "" : nbest.at(0).at("sentence").get<std::string>();
  }

  std::string text_;  // of the final results so far
};

class SherpaProtocol : public ClientProtocol {
 public:
  void OnConnect() override {
    finished_text_.clear();
    segment_text_.clear();
  }
  int64_t num_utterances() const override { return 0; }
  std::string StartMessage(const StartOptions& /*options*/) const override { return ""; }
  std::string FinishMessage() override { return "Done"; }
  bool AnswersStart() const override { return false; }

  ServerMessage Read(std::string_view message) override {
    if (message == "Done!") {
      ServerMessage read;
      read.kind = Kind::kFinal;
      read.text = finished_text_;
      AppendSegment(segment_text_, &read.text);
      return read;
    }
    return ReadFields(message, [this](const Json& object) { return ReadObject(object); });
  }

 private:
  ServerMessage ReadObject(const Json& object) {
    ServerMessage read;
    if (object.contains("error")) {
      read.kind = Kind::kError;
      read.code = object.at("error").at("code");
      read.text = object.at("error").at("message");
      return read;
    }
    segment_text_ = object.at("text");
    read.kind = Kind::kPartial;
    read.text = finished_text_;
    AppendSegment(segment_text_, &read.text);
    if (object.at("is_final").get<bool>()) {
      read.utterance = segment_text_;
      finished_text_ = read.text;
      segment_text_.clear();
    }
    return read;
  }

  std::string finished_text_;  // of the segments that have ended
  std::string segment_text_;   // of the current segment
};

}  // namespace

std::unique_ptr<ClientProtocol> MakeClientProtocol(const std::string& name) {
  if (name == "runnel") return std::make_unique<RunnelProtocol>();
  if (name == "deepgram") return MakeDeepgramProtocol();
  if (name == "openai") return MakeOpenAiProtocol();
  if (name == "wenet") return std::make_unique<WenetProtocol>();
  if (name == "sherpa") return std::make_unique<SherpaProtocol>();
  throw std::invalid_argument("--protocol is '" + name +
                              "', expected runnel, deepgram, openai, wenet or sherpa");
}

std::string ResumeMessage(const std::string& token, SampleEncoding encoding,
                          int64_t num_utterances) {
  return Json{{"type", "resume"},
              {"version", 1},
              {"token", token},
              {"encoding", NameOf(encoding)},
              {"utterances", num_utterances},
              {"tokens", false}}
      .dump();
}

SampleEncoding UsualEncoding(const std::string& protocol) {
  return protocol == "sherpa" ? SampleEncoding::kFloat32 : SampleEncoding::kPcm16;
}

std::optional<RefusalBody> ReadRefusalBody(std::string_view body) {
  const Json object = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  try {
    const Json& error = object.at("error");
    return RefusalBody{error.at("code"), error.at("message")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace runnel::client
