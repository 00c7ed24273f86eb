#include "tools/server/sherpa_protocol.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/server/client_json.h"
#include "tools/server/message_text.h"

namespace runnel::server {
namespace {

// As sherpa-onnx writes its units: a space where a word begins.
std::string Symbol(const TokenTable& table, int32_t id) {
  const std::string boundary = "\u2581";
  std::string symbol = table.symbol(id);
  for (size_t at = symbol.find(boundary); at != std::string::npos; at = symbol.find(boundary, at)) {
    symbol.replace(at, boundary.size(), " ");
  }
  return symbol;
}

// The recognizer makes one segment of a connection, which begins with its audio.
std::string Result(std::string_view text, const std::vector<Token>& tokens, bool is_final,
                   const TokenTable& table) {
  std::string result = R"({"text":)";
  AppendString(text, &result);
  result += R"(,"tokens":[)";
  for (const Token& token : tokens) {
    if (&token != &tokens.front()) result += ',';
    AppendString(Symbol(table, token.id), &result);
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

std::vector<ClientRequest> SherpaProtocol::Read(const ClientMessage& message) {
  // What comes after Done would be of no use to anyone any more.
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
  whole_.Append(update);
  const bool has_result = update.is_final && !update.nbest.empty();
  std::string result = has_result
                           ? Result(update.nbest[0].text, update.nbest[0].tokens, true, tokens_)
                           : Result(whole_.stable_text + whole_.tentative_text, whole_.tokens,
                                    update.is_final, tokens_);
  if (!update.is_final) return {std::move(result)};
  is_over_ = true;
  return {std::move(result), "Done!"};
}

std::vector<std::string> SherpaProtocol::OnSnapshot(const std::string& /*token*/,
                                                    int64_t /*num_samples*/) {
  return {};  // the protocol has no way to resume
}

// The protocol has no message for errors. So it is a result like those before it, with one field
// more, which clients that do not know it pass over; no "Done!" follows.
std::vector<std::string> SherpaProtocol::OnError(const ProtocolError& error) {
  is_over_ = true;
  std::string result =
      Result(whole_.stable_text + whole_.tentative_text, whole_.tokens, false, tokens_);
  BeginField("error", &result);
  result += MessageText({{"code", CodeName(error.code)}, {"message", OneLine(error.message)}});
  result += '}';
  return {std::move(result)};
}

}  // namespace runnel::server
