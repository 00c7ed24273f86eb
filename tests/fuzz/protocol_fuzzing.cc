#include "tests/fuzz/protocol_fuzzing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "frontend/sample_range.h"
#include "runtime/live_update.h"
#include "runtime/text/utf8.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/without_media.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/dialects/protocol_registry.h"

namespace runnel::fuzz {
namespace {

using server::ClientRequest;

// Processor time of a conversation, in seconds: at least, for a byte of JSON or an update, and for
// a byte of audio. Two bytes can be an Opus packet of 120 ms.
constexpr double kBaseS = 0.03;
constexpr double kTextByteS = 1e-6;
constexpr double kAudioByteS = 1e-4;
// Size of messages with a part that is repeated.
constexpr size_t kRepeatedBytes = 60000;

struct Piece {
  char kind;
  std::string_view bytes;
};

Piece TakePiece(std::string_view* input) {
  const auto byte_at = [input](size_t i) {
    return i < input->size() ? static_cast<size_t>(static_cast<unsigned char>((*input)[i])) : 0;
  };
  const size_t size = byte_at(1) + 256 * byte_at(2);
  Piece piece{input->front(), {}};
  input->remove_prefix(std::min<size_t>(3, input->size()));
  piece.bytes = input->substr(0, size);
  input->remove_prefix(piece.bytes.size());
  return piece;
}

// Of three lines, the second again and again.
std::string Repeated(std::string_view lines) {
  const size_t first = std::min(lines.find('\n'), lines.size());
  std::string message(lines.substr(0, first));
  lines.remove_prefix(std::min(first + 1, lines.size()));
  const size_t second = std::min(lines.find('\n'), lines.size());
  const std::string_view part = lines.substr(0, second);
  while (!part.empty() && message.size() < kRepeatedBytes) message += part;
  return message.append(lines.substr(std::min(second + 1, lines.size())));
}

Utterance UtteranceOf(std::string_view bytes, int64_t index, const std::vector<Token>& tokens) {
  Utterance utterance;
  utterance.index = index;
  utterance.end = static_cast<UtteranceEnd>(index % 4);
  Hypothesis& best = utterance.nbest.emplace_back();
  best.text = std::string(bytes);
  best.score = -1.5;
  best.confidence = 0.5F;
  best.tokens = tokens;
  return utterance;
}

// The first half of the bytes is stable text. The first byte selects the kind of update: final,
// failed, or one that ends utterances, of which the first is `index`.
LiveUpdate UpdateOf(std::string_view bytes, int64_t index, size_t stable_size_before,
                    size_t stable_tokens_before) {
  LiveUpdate update;
  update.utterance_index = index;
  update.stable_text = bytes.substr(0, bytes.size() / 2);
  update.tentative_text = bytes.substr(bytes.size() / 2);
  update.stable_size_before = stable_size_before;
  update.stable_tokens_before = stable_tokens_before;
  update.tokens.resize(bytes.size() % 3);
  for (Token& token : update.tokens) token.id = 1;
  update.num_stable_tokens = update.tokens.size() / 2;
  const char first = bytes.empty() ? 'x' : bytes.front();
  update.is_final = first == 'f' || first == 'e';
  if (first == 'f') update.utterances = {UtteranceOf(bytes, index, update.tokens)};
  if (first == 'n') {
    for (size_t i = 0; i < 1 + bytes.size() % 3; ++i) {
      update.utterances.push_back(UtteranceOf(bytes, index++, update.tokens));
    }
    update.utterance_index = index;
    update.stable_size_before = update.stable_tokens_before = 0;
  }
  if (first == 'e') update.error = bytes;
  return update;
}

// Checks that the requests come in an order that a session can carry out.
class Session {
 public:
  Session(server::Protocol* protocol, bool (*is_valid)(const std::string& text))
      : protocol_(protocol), is_valid_(is_valid) {}

  // Reads a message to its end.
  void Read(const server::ClientMessage& message) {
    rest_ = message.bytes;
    for (const ClientRequest& request : protocol_->Read(message)) CarryOut(request);
  }

  void CarryOut(const ClientRequest& request) {
    Require(!is_over_, "nothing is asked for after the end");
    std::visit([this](const auto& kind) { Do(kind); }, request);
  }

  void Update(std::string_view bytes) {
    if (!has_started_ || is_over_) return;
    const LiveUpdate update = UpdateOf(bytes, utterance_index_, stable_size_, num_stable_tokens_);
    utterance_index_ = update.utterance_index;
    stable_size_ = update.stable_size_before + update.stable_text.size();
    num_stable_tokens_ = update.stable_tokens_before + update.num_stable_tokens;
    RequireValid(protocol_->OnUpdate(update));
    RequireValid(protocol_->OnSnapshot(std::string(bytes), 7));
    is_over_ = update.is_final;
  }

  bool is_over() const { return is_over_; }

 private:
  void RequireValid(const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) Require(is_valid_(text), "text is valid");
  }
  // `rate_hz` 0: the model's.
  void Start(int rate_hz) {
    Require(!has_started_, "one start");
    has_started_ = true;
    server::SessionInfo info;
    info.text_tokens = &Units();
    info.options.sample_rate_hz = rate_hz == 0 ? 16000 : rate_hz;
    RequireValid(protocol_->OnReady(info));
    RequireValid(protocol_->OnUtterances({UtteranceOf("two", 0, {})}));
  }
  void Do(const server::StartRequest& start) {
    OptionValues values = start.options.values;
    values.stream.sample_rate_hz = 0;  // a limit of the server bounds it
    CheckRanges(values);
    values.stream.endpoints.Validate();
    Start(start.options.values.stream.sample_rate_hz);
  }
  void Do(const server::ResumeRequest& resume) {
    Require(!resume.token.empty(), "a token to resume by");
    Require(resume.num_utterances.value_or(0) >= 0, "a number of utterances");
    Start(0);
  }
  void Do(const server::AudioRequest& audio) const {
    Require(has_started_ && !is_finished_, "audio between start and finish");
    for (const float sample : audio.samples)
      Require(std::abs(sample) <= kMaxAmplitude, "sound samples");
  }
  void Do(const server::FlushRequest& /*flush*/) const {
    Require(has_started_ && !is_finished_, "a flush between start and finish");
  }
  void Do(const server::FinishRequest& /*finish*/) {
    Require(has_started_ && !is_finished_, "one finish, after the start");
    is_finished_ = true;
  }
  void Do(const server::CancelRequest& /*cancel*/) { is_over_ = true; }
  void Do(const server::MoreRequest& more) {
    Require(more.num_read <= rest_.size(), "no more is read than there is");
    rest_.remove_prefix(more.num_read);
    for (const ClientRequest& request : protocol_->ReadMore(rest_)) CarryOut(request);
  }
  void Do(const server::ImmediateReply& reply) const { RequireValid({reply.text}); }
  void Do(const server::ProtocolError& error) {
    Require(!error.message.empty(), "an error says what is wrong");
    RequireValid(protocol_->OnError(error));
    Require(IsJsonText(server::ErrorText(error)), "an error is JSON");
    Require(IsJsonText(server::HttpErrorBody(400, server::CodeName(error.code), error.message)),
            "the body of an error is JSON");
    is_over_ = true;
  }

  server::Protocol* protocol_;
  bool (*is_valid_)(const std::string& text);
  bool has_started_ = false;
  bool is_finished_ = false;
  bool is_over_ = false;
  std::string_view rest_;  // of the message
  int64_t utterance_index_ = 0;
  size_t stable_size_ = 0;
  size_t num_stable_tokens_ = 0;
};

}  // namespace

const TokenTable& Units() {
  DecodeWithoutMedia();
  static const TokenTable units("<blank> 0\n\u2581two 1\n字 2\n", 3, 0, "units.txt");
  return units;
}

bool IsJsonText(const std::string& text) {
  return IsUtf8(text) && (text == "Done!" || nlohmann::json::accept(text));
}

bool Converse(server::Protocol* protocol, std::string_view input,
              bool (*is_valid)(const std::string& text)) {
  const WorkBound work;
  double allowed_s = kBaseS;
  Session session(protocol, is_valid);
  for (const ClientRequest& request : protocol->Open()) session.CarryOut(request);
  bool is_first = true;
  while (!input.empty()) {
    Piece piece = TakePiece(&input);
    std::string repeated;
    if (piece.kind == 'r') {
      repeated = Repeated(piece.bytes);
      piece = {'t', repeated};
    }
    const bool is_audio = piece.kind != 't' && piece.kind != 'u';
    allowed_s += (is_audio ? kAudioByteS : kTextByteS) * static_cast<double>(piece.bytes.size());
    if (piece.kind == 'u') {
      session.Update(piece.bytes);
      continue;
    }
    const server::ClientMessage message{piece.kind == 't', piece.bytes};
    std::vector<ClientRequest> requests;
    if (is_first && server::ReadFirstMessage(message, Units(), &requests) == nullptr) {
      const auto& error = std::get<server::ProtocolError>(requests.at(0));
      Require(IsJsonText(server::ErrorText(error)), "an error is JSON");
    }
    is_first = false;
    session.Read(message);
    if (session.is_over()) Require(protocol->Read(message).empty(), "nothing after the end");
  }
  return work.Holds(allowed_s);
}

}  // namespace runnel::fuzz
