// What a connection keeps of its client's messages does not grow with them, in any dialect.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using testing::Text;
using testing::Units;

// As large as an event without audio may be.
std::string Long(char fill) { return std::string(60000, fill); }

std::string ManyKeys(size_t round) {
  std::string keys;
  for (size_t i = 0; i < 3000; ++i) {
    keys += (i == 0 ? "\"" : ",\"") + std::to_string(round * 3000 + i) + "\":0";
  }
  return keys;
}

std::string ManyItems() {
  std::string items = R"("two")";
  for (size_t i = 1; i < 10000; ++i) items += R"(,"a")";
  return items;
}

std::string Update(const std::string& input) {
  return R"({"type":"session.update","session":{"audio":{"input":{)" + input + "}}}}";
}

// A dialect, and a message that its clients may send again and again. Each has a number.
struct Flood {
  std::string name;
  std::string path;  // "" for Wyoming
  std::function<std::string(size_t round)> message;
};

std::vector<Flood> Floods() {
  const auto same = [](const std::string& text) { return [text](size_t) { return text; }; };
  const std::string realtime = "/v1/realtime";
  const std::string runnel = "/v1/stream";
  const std::string listen = "/v1/listen";
  return {
      {"OpenAI: unknown fields of transcription", realtime,
       [](size_t round) { return Update("\"transcription\":{" + ManyKeys(round) + "}"); }},
      {"OpenAI: one field after the other", realtime,
       [](size_t round) {
         const std::string text = "\"" + Long('x') + "\"";
         const std::vector<std::string> parts = {
             R"("transcription":{"prompt":)" + text + "}",
             R"("transcription":{"model":)" + text + "}",
             R"("transcription":{"language":)" + text + "}",
             R"("transcription":{"keywords":[)" + ManyItems() + "]}",
             R"("transcription":{"languages":[)" + ManyItems() + "]}",
             R"("noise_reduction":{"type":)" + text + "}",
             R"("noise_reduction":{)" + ManyKeys(round) + "}",
             R"("turn_detection":{)" + ManyKeys(round) + "}"};
         return Update(parts[round % parts.size()]);
       }},
      {"OpenAI: include", realtime,
       [](size_t round) {
         return R"({"type":"session.update","session":{"include":[")" +
                std::string(1000 * round, 'x') + "\"]}}";
       }},
      {"OpenAI: identifiers of events", realtime,
       [](size_t round) {
         return R"({"type":"input_audio_buffer.commit","event_id":")" +
                std::string(1000 * round, 'x') + "\"}";
       }},
      {"Deepgram: KeepAlive", listen,
       [](size_t round) { return R"({"type":"KeepAlive",)" + ManyKeys(round) + "}"; }},
      {"Deepgram: Configure", listen,
       [](size_t round) { return R"({"type":"Configure","features":{)" + ManyKeys(round) + "}}"; }},
      {"Deepgram: Finalize", listen, same(R"({"type":"Finalize"})")},
      {"Vosk: phrases", "/vosk",
       [](size_t) { return R"({"config":{"phrase_list":[)" + ManyItems() + "]}}"; }},
      {"Vosk: other fields", "/vosk",
       [](size_t round) { return R"({"config":{)" + ManyKeys(round) + "}}"; }},
      {"Vosk: reset", "/vosk", same(R"({"reset":1})")},
      {"Runnel: ping", runnel,
       [](size_t round) {
         return R"({"type":"ping","id":")" + std::string(1000 * round, 'x') + "\"}";
       }},
      {"Wyoming: transcribe", "",
       [](size_t) {
         return WyomingText("transcribe", {{"language", Long('x')}});
       }},
      {"Wyoming: ping", "",
       [](size_t) {
         return WyomingText("ping", {{"text", Long('x')}});
       }},
      {"Wyoming: describe", "", same(WyomingText("describe", OrderedJson::object()))},
      {"Wyoming: events of other services", "",
       [](size_t round) {
         return WyomingText("run-pipeline", {{std::to_string(round), Long('x')}});
       }},
  };
}

std::shared_ptr<Protocol> Opened(const std::string& path) {
  if (path.empty()) return std::make_shared<WyomingProtocol>("info\n");
  Opening opening;
  opening.session_id = "7";
  opening.path = path;
  if (path == "/v1/listen") opening.query = {{"encoding", "linear16"}, {"sample_rate", "16000"}};
  auto protocol = ChooseProtocol(opening, Units());
  if (protocol != nullptr) return protocol;
  std::vector<ClientRequest> requests;  // its first message chooses Runnel's
  return ReadFirstMessage(Text(R"({"type":"ping"})"), Units(), &requests);
}

size_t Heap() { return ::mallinfo2().uordblks; }  // 0 under a sanitizer

// Passes the messages from `first` on to the protocol, and drops what it makes of them. Returns the
// size of the longest reply.
size_t Send(const Flood& flood, size_t first, size_t count, Protocol* protocol) {
  size_t longest = 0;
  for (size_t round = first; round < first + count; ++round) {
    for (const ClientRequest& request : protocol->Read(Text(flood.message(round)))) {
      EXPECT_FALSE(std::holds_alternative<ProtocolError>(request)) << flood.name;
      if (const auto* reply = std::get_if<ImmediateReply>(&request)) {
        longest = std::max(longest, reply->text.size());
      }
    }
  }
  return longest;
}

TEST(KeptState, DoesNotGrowWithMessages) {
  constexpr size_t kRounds = 24;  // a multiple of the kinds of messages of a flood
  constexpr size_t kSlack = 65536;
  for (const Flood& flood : Floods()) {
    const std::shared_ptr<Protocol> protocol = Opened(flood.path);
    ASSERT_NE(protocol, nullptr) << flood.name;
    Send(flood, 0, kRounds, protocol.get());
    const size_t before = Heap();
    EXPECT_LT(Send(flood, kRounds, kRounds, protocol.get()), kMaxControlBytes + 8192) << flood.name;
    EXPECT_LT(Heap(), before + kSlack) << flood.name;
  }
}

// However little a client asks for.
TEST(KeptState, AReplyIsNoLargerThanAMessage) {
  const std::shared_ptr<Protocol> protocol = Opened("/v1/realtime");
  for (const char* field : {"prompt", "model", "language"}) {
    const std::string value = R"({")" + std::string(field) + R"(":")" + Long('x') + "\"}";
    protocol->Read(Text(Update("\"transcription\":" + value)));
  }
  const auto requests = protocol->Read(Text(Update("")));
  EXPECT_LT(testing::Only<ImmediateReply>(requests).text.size(), kMaxControlBytes + 8192);
}

}  // namespace
}  // namespace runnel::server
