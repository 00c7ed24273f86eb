#include "tools/server/dialects/sherpa_protocol.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "runtime/text/printable.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

constexpr std::string_view kDone = "Done";  // the client's last message: the audio is complete

struct Segment {
  int64_t index = 0;
  double start_ms = 0;  // where the segment before it ends
  bool is_final = false;
  bool is_eof = false;
};

// A result message. Like sherpa-onnx, it writes a space where a word begins, and times since the
// start of the segment.
std::string Result(std::string_view text, const std::vector<Token>& tokens, const Segment& segment,
                   const TokenTable& table) {
  std::string result = R"({"text":)";
  AppendString(text, &result);
  result += R"(,"tokens":[)";
  for (const Token& token : tokens) {
    if (&token != &tokens.front()) result += ',';
    AppendString(table.IsByte(token.id) ? table.name(token.id) : table.text(token.id), &result);
  }
  result += R"(],"timestamps":[)";
  for (const Token& token : tokens) {
    if (&token != &tokens.front()) result += ',';
    AppendNumber((token.start_ms - segment.start_ms) / 1000, &result);
  }
  result += R"(],"segment":)" + std::to_string(segment.index) + R"(,"start_time":)";
  AppendNumber(segment.start_ms / 1000, &result);
  result += segment.is_final ? R"(,"is_final":true)" : R"(,"is_final":false)";
  result += segment.is_eof ? R"(,"is_eof":true})" : R"(,"is_eof":false})";
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
    std::vector<ClientRequest> audio;
    if (!message.is_text) audio = ReadSamples(&decoder_, message.bytes);
    if (!has_started_) {
      StartRequest start;
      start.encoding = decoder_.encoding();
      start.expects_endpointing = true;
      requests.emplace_back(std::move(start));
      has_started_ = true;
    }
    requests.insert(requests.end(), std::make_move_iterator(audio.begin()),
                    std::make_move_iterator(audio.end()));
    if (message.is_text) {
      is_over_ = true;
      requests.emplace_back(FinishRequest{});
    }
  } catch (const ClientMistake& mistake) {
    is_over_ = true;
    requests.emplace_back(ProtocolError{mistake.code(), mistake.what()});
  }
  return requests;
}

std::vector<ClientRequest> SherpaProtocol::ReadMore(std::string_view rest) {
  return Read({/*is_text=*/false, rest});
}

std::vector<std::string> SherpaProtocol::OnReady(const SessionInfo& info) {
  text_tokens_ = info.text_tokens;
  return {};
}

std::vector<std::string> SherpaProtocol::OnUpdate(const LiveUpdate& update) {
  const bool has_final = update.is_final && update.error.empty();
  std::vector<std::string> texts;
  for (const Utterance& utterance : update.utterances) {
    texts.push_back(Ended(utterance, has_final && &utterance == &update.utterances.back()));
  }
  if (has_final) {
    is_over_ = true;
    texts.emplace_back("Done!");
    return texts;
  }
  if (!update.error.empty()) {
    if (!update.utterances.empty()) {
      merged_ = LiveUpdate();
      merged_.utterance_index = update.utterances.back().index + 1;
    }
    texts.push_back(OnError({ErrorCode::kStreamFailed, update.error}).front());
    return texts;
  }
  merged_.Append(update);
  merged_.utterances.clear();
  if (texts.empty() || !merged_.stable_text.empty() || !merged_.tentative_text.empty()) {
    texts.push_back(Running());
  }
  return texts;
}

std::string SherpaProtocol::Ended(const Utterance& utterance, bool is_eof) {
  const Segment segment{utterance.index, segment_start_ms_, /*is_final=*/true, is_eof};
  segment_start_ms_ = utterance.searched_ms;
  const Hypothesis& best = utterance.nbest.front();
  return Result(best.text, best.tokens, segment, *text_tokens_);
}

std::string SherpaProtocol::Running() const {
  const Segment segment{merged_.utterance_index, segment_start_ms_, /*is_final=*/false,
                        /*is_eof=*/false};
  return Result(merged_.stable_text + merged_.tentative_text, merged_.tokens, segment,
                *text_tokens_);
}

// The protocol has no message for errors. The error is a result with an additional field, which
// clients ignore if they do not know it. No "Done!" follows.
std::vector<std::string> SherpaProtocol::OnError(const ProtocolError& error) {
  is_over_ = true;
  std::string result = Running();
  BeginField("error", &result);
  result += JsonText({{"code", CodeName(error.code)}, {"message", Printable(error.message)}});
  result += '}';
  return {std::move(result)};
}

}  // namespace runnel::server
