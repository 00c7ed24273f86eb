#include "tools/server/protocol/sherpa_protocol.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

constexpr std::string_view kDone = "Done";  // the client's last message: the audio is complete

// A result message. The whole audio of a connection is one segment. Like sherpa-onnx, it writes a
// space where a word begins.
std::string Result(std::string_view text, const std::vector<Token>& tokens, bool is_final,
                   const TokenTable& table) {
  std::string result = R"({"text":)";
  AppendString(text, &result);
  result += R"(,"tokens":[)";
  for (const Token& token : tokens) {
    if (&token != &tokens.front()) result += ',';
    AppendString(table.text(token.id), &result);
  }
  result += R"(],"timestamps":[)";
  for (const Token& token : tokens) {
    if (&token != &tokens.front()) result += ',';
    AppendNumber(token.start_ms / 1000, &result);
  }
  result += R"(],"segment":0,"start_time":0.0,"is_final":)";
  result += is_final ? "true" : "false";
  result += is_final ? R"(,"is_eof":true})" : R"(,"is_eof":false})";
  return result;
}

}  // namespace

bool SherpaProtocol::Recognizes(const ClientMessage& first, const nlohmann::json& /*json*/) {
  return !first.is_text || first.bytes == kDone;
}

std::vector<ClientRequest> SherpaProtocol::Read(const ClientMessage& message) {
  // Messages after Done are ignored.
  if (is_over_) return {};
  std::vector<ClientRequest> requests;
  try {
    if (message.is_text && message.bytes != kDone) {
      throw ClientMistake(ErrorCode::kBadMessage,
                          "text other than Done, expected float32 samples in binary messages");
    }
    ClientRequest request = FinishRequest{};
    if (message.is_text) {
      is_over_ = true;
    } else {
      request = AudioRequest{decoder_.Decode(message.bytes)};
    }
    if (!has_started_) {
      StartRequest start;
      start.encoding = decoder_.encoding();
      requests.emplace_back(std::move(start));
      has_started_ = true;
    }
    requests.push_back(std::move(request));
  } catch (const ClientMistake& mistake) {
    is_over_ = true;
    requests.emplace_back(ProtocolError{mistake.code(), mistake.what()});
  }
  return requests;
}

std::vector<std::string> SherpaProtocol::OnReady(const SessionInfo& /*info*/) { return {}; }

std::vector<std::string> SherpaProtocol::OnUpdate(const LiveUpdate& update) {
  if (!update.error.empty()) return OnError({ErrorCode::kStreamFailed, update.error});
  merged_.Append(update);
  if (!update.is_final) {
    return {Result(merged_.stable_text + merged_.tentative_text, merged_.tokens, false, tokens_)};
  }
  const Hypothesis& best = update.utterances.back().nbest.front();
  std::string result = Result(best.text, best.tokens, true, tokens_);
  is_over_ = true;
  return {std::move(result), "Done!"};
}

std::vector<std::string> SherpaProtocol::OnSnapshot(const std::string& /*token*/,
                                                    int64_t /*num_samples*/) {
  return {};  // the protocol has no way to resume
}

// The protocol has no message for errors. The error is a result with an additional field, which
// clients ignore if they do not know it. No "Done!" follows.
std::vector<std::string> SherpaProtocol::OnError(const ProtocolError& error) {
  is_over_ = true;
  std::string result =
      Result(merged_.stable_text + merged_.tentative_text, merged_.tokens, false, tokens_);
  BeginField("error", &result);
  result += MessageText({{"code", CodeName(error.code)}, {"message", OneLine(error.message)}});
  result += '}';
  return {std::move(result)};
}

}  // namespace runnel::server
