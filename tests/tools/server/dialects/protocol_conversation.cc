#include "tests/tools/server/dialects/protocol_conversation.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstddef>
#include <cstring>
#include <variant>

#include "runtime/text/utf8.h"

namespace runnel::server::testing {
namespace {

struct Shower {
  std::string operator()(const StartRequest&) const { return "start"; }
  std::string operator()(const ResumeRequest& resume) const {
    return "resume " + resume.token +
           (resume.nbest > 0 ? " nbest " + std::to_string(resume.nbest) : "") +
           (resume.num_utterances ? " utterances " + std::to_string(*resume.num_utterances) : "");
  }
  std::string operator()(const AudioRequest& audio) const {
    return "audio " + std::to_string(audio.samples.size());
  }
  std::string operator()(const FlushRequest&) const { return "flush"; }
  std::string operator()(const FinishRequest&) const { return "finish"; }
  std::string operator()(const CancelRequest&) const { return "cancel"; }
  std::string operator()(const MoreRequest&) const { return "more"; }
  std::string operator()(const ImmediateReply& reply) const { return "reply " + reply.text; }
  std::string operator()(const ProtocolError& error) const {
    EXPECT_FALSE(error.message.empty());
    return std::string("error ") + CodeName(error.code);
  }
};

template <typename Unsigned, typename Sample>
std::string LittleEndian(const std::vector<Sample>& samples) {
  std::string bytes;
  for (const Sample sample : samples) {
    Unsigned bits = 0;
    std::memcpy(&bits, &sample, sizeof(bits));
    for (size_t i = 0; i < sizeof(bits); ++i) {
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> (8 * i)));
    }
  }
  return bytes;
}

}  // namespace

const TokenTable& Units() {
  static const TokenTable units("<blank> 0\n\u2581two 1\n\u2581ze 2\nro 3\n字 4\n", 5, 0, "units");
  return units;
}

const TokenTable& UnitsWithTag() {
  static const TokenTable units("<blank> 0\n\u2581two 1\n\u2581ze 2\nro 3\n<en> 4\n", 5, 0,
                                "units");
  return units;
}

Token TokenAt(int32_t id, double start_ms, double end_ms) {
  Token token;
  token.id = id;
  token.start_ms = start_ms;
  token.end_ms = end_ms;
  token.confidence = 0.75F;
  token.frame = static_cast<int64_t>(start_ms / 40);
  return token;
}

LiveUpdate TwoZero() {
  LiveUpdate update;
  update.begins_word = true;
  update.stable_text = "two";
  update.tentative_text = " zero";
  update.tokens = {TokenAt(1, 40, 200), TokenAt(2, 320, 360), TokenAt(3, 400, 480)};
  update.num_stable_tokens = 1;
  update.audio_ms = 640;
  update.latency_ms = 12.5;
  return update;
}

LiveUpdate FinalTwoZero() {
  LiveUpdate update;
  update.begins_word = true;
  update.stable_text = " zero";
  update.stable_size_before = 3;
  update.stable_tokens_before = 1;
  update.tokens = {TokenAt(2, 320, 360), TokenAt(3, 400, 480)};
  update.num_stable_tokens = 2;
  update.audio_ms = 1000;
  update.latency_ms = 20;
  update.is_final = true;
  Hypothesis best;
  best.score = -0.5;
  best.tokens = {TokenAt(1, 40, 200), TokenAt(2, 320, 360), TokenAt(3, 400, 480)};
  Units().Complete(&best);
  Hypothesis second;
  second.score = -3;
  second.tokens = {TokenAt(1, 40, 200)};
  Units().Complete(&second);
  update.utterances.resize(1);
  Utterance& utterance = update.utterances[0];
  utterance.start_ms = 40;
  utterance.end_ms = 480;
  utterance.searched_ms = 1000;
  utterance.latency_ms = 20;
  utterance.nbest = {best, second};
  return update;
}

Utterance EndedTwo(int64_t index) {
  const double offset_ms = 1000 * static_cast<double>(index);
  Utterance utterance;
  utterance.index = index;
  utterance.start_ms = offset_ms + 40;
  utterance.end_ms = offset_ms + 200;
  utterance.searched_ms = offset_ms + 600;
  utterance.end = UtteranceEnd::kEndpoint;
  utterance.latency_ms = 7.5;
  Hypothesis best;
  best.score = -0.25;
  best.confidence = 0.75F;
  best.tokens = {TokenAt(1, offset_ms + 40, offset_ms + 200)};
  Units().Complete(&best);
  utterance.nbest = {best};
  return utterance;
}

LiveUpdate RunningZe(int64_t index) {
  const double offset_ms = 1000 * static_cast<double>(index);
  LiveUpdate update;
  update.begins_word = true;
  update.utterance_index = index;
  update.stable_text = "ze";
  update.tokens = {TokenAt(2, offset_ms + 80, offset_ms + 120)};
  update.num_stable_tokens = 1;
  update.audio_ms = offset_ms + 640;
  update.latency_ms = 7.5;
  return update;
}

LiveUpdate RunningTag() {
  LiveUpdate update = RunningZe(0);
  update.stable_text = "<en> ze";
  update.tokens.insert(update.tokens.begin(), TokenAt(4, 40, 80));
  update.num_stable_tokens = 2;
  return update;
}

ClientMessage Text(std::string_view bytes) { return {true, bytes}; }

ClientMessage Binary(std::string_view bytes) { return {false, bytes}; }

std::string Pcm16(const std::vector<int16_t>& samples) { return LittleEndian<uint16_t>(samples); }

std::string Float32(const std::vector<float>& samples) { return LittleEndian<uint32_t>(samples); }

std::string Base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

std::string Shown(const std::vector<ClientRequest>& requests) {
  std::string shown;
  for (const ClientRequest& request : requests) {
    shown += (shown.empty() ? "" : "; ") + std::visit(Shower(), request);
  }
  return shown;
}

void ExpectConversation(Protocol* protocol, const std::vector<Turn>& turns) {
  for (size_t i = 0; i < turns.size(); ++i) {
    EXPECT_EQ(Shown(protocol->Read(turns[i].message)), turns[i].expected)
        << "message " << i << ": " << turns[i].message.bytes.substr(0, 200);
  }
}

nlohmann::json OnlyMessage(const std::vector<std::string>& texts) {
  if (texts.size() != 1) {
    ADD_FAILURE() << texts.size() << " texts, expected one";
    return {};
  }
  EXPECT_TRUE(IsUtf8(texts[0])) << texts[0];
  EXPECT_EQ(texts[0].find('\n'), std::string::npos) << texts[0];
  return nlohmann::json::parse(texts[0]);
}

}  // namespace runnel::server::testing
