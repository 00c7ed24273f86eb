#include "tools/server/dialects/wenet_protocol.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "encoder/json/json_section.h"
#include "runtime/text/printable.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/start_options.h"

namespace runnel::server {
namespace {

std::string Message(const char* type) { return JsonText({{"status", "ok"}, {"type", type}}); }

std::string ResultMessage(const char* type, const std::string& nbest) {
  return JsonText({{"status", "ok"}, {"type", type}, {"nbest", nbest}});
}

// The rules of WeNet's runtime (decoder/ctc_endpoint.h). It also clears the encoder's context at an
// endpoint, which loses accuracy and is not needed here.
void ChooseEndpoints(ChosenOptions* options) {
  options->Set("endpointing", true);
  options->Set("endpoint_initial_silence_s", 5.0);
  options->Set("endpoint_silence_s", 1.0);
  options->Set("endpoint_max_utterance_s", 20.0);
  options->Set("endpoint_blank_probability", 0.8);
}

}  // namespace

bool WenetProtocol::Recognizes(const ClientMessage& /*first*/, const nlohmann::json& json) {
  return json.contains("signal");
}

std::vector<ClientRequest> WenetProtocol::Read(const ClientMessage& message) {
  // Messages after the end are ignored, as by WeNet's server.
  if (phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&]() -> std::vector<ClientRequest> {
    if (message.is_text) return {ReadSignal(message)};
    if (phase_ == Phase::kBeforeStart) {
      throw ClientMistake(ErrorCode::kUnsupportedOrder, "audio before the start signal");
    }
    return ReadSamples(&decoder_, message.bytes);
  });
}

std::vector<ClientRequest> WenetProtocol::ReadMore(std::string_view rest) {
  return Checked(&phase_, [&] { return ReadSamples(&decoder_, rest); });
}

ClientRequest WenetProtocol::ReadSignal(const ClientMessage& text) {
  const nlohmann::json message = ReadClientJson(text);
  const auto found = message.find("signal");
  if (found == message.end() || !found->is_string()) {
    throw ClientMistake(ErrorCode::kBadMessage, R"(a text message without a string "signal")");
  }
  const auto signal = found->get<std::string>();
  if (signal == "start") {
    if (phase_ != Phase::kBeforeStart) {
      throw ClientMistake(ErrorCode::kUnsupportedOrder, "a second start signal");
    }
    StartRequest start = ReadStart(message);
    phase_ = Phase::kAudio;
    return start;
  }
  if (signal != "end") {
    throw ClientMistake(ErrorCode::kBadMessage, "signal is neither start nor end");
  }
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "an end signal before the start signal");
  }
  phase_ = Phase::kOver;
  return FinishRequest{};
}

StartRequest WenetProtocol::ReadStart(const nlohmann::json& message) {
  JsonSection fields(message, "", "start");
  if (fields.Has("nbest")) {
    nbest_ = static_cast<size_t>(fields.IntegerFrom("nbest", 1, kMaxAlternatives));
  }
  StartRequest start;
  if (fields.Has("continuous_decoding") && fields.Bool("continuous_decoding")) {
    ChooseEndpoints(&start.options);
  }
  start.encoding = decoder_.encoding();
  start.max_alternatives = static_cast<int>(nbest_);
  return start;
}

std::vector<std::string> WenetProtocol::OnReady(const SessionInfo& /*info*/) {
  return {Message("server_ready")};
}

std::vector<std::string> WenetProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> texts;
  for (const Utterance& utterance : update.utterances) texts.push_back(FinalResult(utterance));
  if (!update.error.empty()) {
    texts.push_back(OnError({ErrorCode::kStreamFailed, update.error}).front());
    return texts;
  }
  if (update.is_final) {
    phase_ = Phase::kOver;
    texts.push_back(Message("speech_end"));
    return texts;
  }
  merged_.Append(update);
  merged_.utterances.clear();
  const std::string sentence = merged_.stable_text + merged_.tentative_text;
  // WeNet's server sends nothing before it has text.
  if (sentence.empty()) return texts;
  OrderedJson nbest = OrderedJson::array();
  nbest.push_back({{"sentence", sentence}});
  texts.push_back(ResultMessage("partial_result", JsonText(nbest)));
  return texts;
}

std::string WenetProtocol::FinalResult(const Utterance& utterance) const {
  return ResultMessage("final_result", FinalNBest(utterance.nbest));
}

std::string WenetProtocol::FinalNBest(const std::vector<Hypothesis>& nbest) const {
  std::string list = "[";
  for (size_t i = 0; i < std::min(nbest_, nbest.size()); ++i) {
    list += i > 0 ? R"(,{"sentence":)" : R"({"sentence":)";
    AppendString(nbest[i].text, &list);
    list += R"(,"word_pieces":[)";
    for (const Token& token : nbest[i].tokens) {
      list += &token == &nbest[i].tokens.front() ? R"({"word":)" : R"(,{"word":)";
      AppendString(tokens_.name(token.id), &list);
      list += R"(,"start":)" + std::to_string(std::llround(token.start_ms));
      list += R"(,"end":)" + std::to_string(std::llround(token.end_ms)) + "}";
    }
    list += "]}";
  }
  return list + "]";
}

std::vector<std::string> WenetProtocol::OnError(const ProtocolError& error) {
  phase_ = Phase::kOver;
  return {
      JsonText({{"status", "failed"},
                {"message", std::string(CodeName(error.code)) + ": " + Printable(error.message)}})};
}

}  // namespace runnel::server
