#include "tools/client/abusive_client.h"

#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace runnel::client {
namespace {

constexpr char kStart[] = R"({"type":"start","version":1,"sample_rate":16000,"encoding":"pcm16"})";
constexpr char kFinish[] = R"({"type":"finish"})";
constexpr char kWenetStart[] = R"({"signal":"start","nbest":1,"continuous_decoding":false})";

// Valid messages, some bytes of which are changed.
constexpr const char* kMessages[] = {
    kStart,
    R"({"type":"start","version":1,"chunk_size":16,"left_context":64,"search":"beam","nbest":3})",
    R"({"type":"start","version":1,"sample_rate":1e99,"resume":true,"tokens":[[[[[[[]]]]]]]})",
    R"({"type":"start","version":1,"sample_rate":8000,"encoding":"opus"})",
    R"({"type":"resume","version":1,"token":"0123456789abcdef"})",
    R"({"type":"ping","id":"\ud800\u0000"})",
    kFinish,
    R"({"type":"cancel"})",
    kWenetStart,
    R"({"signal":"end"})",
    "Done",
};

// Bytes with a meaning in JSON.
constexpr char kJsonBytes[] = "{}[]\",:\\0e-.\xFF\xC0\x80 ntu";

constexpr size_t kMaxHugeSize = size_t{48} << 20;

}  // namespace

AbusiveClient::AbusiveClient(EventLoop* loop, Connector* connector,
                             const std::vector<ServerUrl>& servers, uint32_t seed,
                             LoadStatistics* statistics)
    : connector_(connector),
      servers_(servers),
      statistics_(statistics),
      random_(seed),
      next_timer_(loop, [this] { Next(); }),
      leave_timer_(loop, [this] { Leave(); }) {
  Leave();
}

AbusiveClient::~AbusiveClient() {
  if (connection_ != nullptr) connection_->Abort();
}

const std::vector<AbusiveClient::Attack>& AbusiveClient::Attacks() {
  static const std::vector<Attack> attacks = {{true, &AbusiveClient::SendRandomBytes},
                                              {true, &AbusiveClient::SendTlsGarbage},
                                              {true, &AbusiveClient::SendHalfAHeader},
                                              {true, &AbusiveClient::SendUploadOfGarbage},
                                              {true, &AbusiveClient::SendNothing},
                                              {false, &AbusiveClient::SendNothing},
                                              {false, &AbusiveClient::SendRandomMessages},
                                              {false, &AbusiveClient::SendNearlyRightJson},
                                              {false, &AbusiveClient::SendNearlyRightJson},
                                              {false, &AbusiveClient::StartTwice},
                                              {false, &AbusiveClient::SendTextForAudio},
                                              {false, &AbusiveClient::SendOddBytes},
                                              {false, &AbusiveClient::SendNoNumbers},
                                              {false, &AbusiveClient::SendHugeMessage},
                                              {false, &AbusiveClient::SendWrongFrames},
                                              {false, &AbusiveClient::SendInWrongOrder},
                                              {false, &AbusiveClient::NeverRead}};
  return attacks;
}

void AbusiveClient::Next() {
  attack_ = &Attacks()[Random(0, Attacks().size() - 1)];
  const ServerUrl& server = servers_[Random(0, servers_.size() - 1)];
  // The server may end the connection earlier.
  leave_timer_.SetAfter(static_cast<double>(Random(20, 2000)) / 1000);
  connection_ =
      attack_->is_raw ? connector_->ConnectRaw(server, this) : connector_->Connect(server, this);
}

void AbusiveClient::Leave() {
  leave_timer_.Cancel();
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->Abort();
  next_timer_.SetAfter(static_cast<double>(Random(1, 50)) / 1000);
}

void AbusiveClient::OnOpen() {
  ++statistics_->num_attacks;
  (this->*attack_->run)();
}

void AbusiveClient::OnMessage(std::string_view /*message*/) {}

void AbusiveClient::OnClosed(const ConnectionEnd& /*end*/) {
  connection_ = nullptr;
  Leave();
}

size_t AbusiveClient::Random(size_t min, size_t max) {
  return std::uniform_int_distribution<size_t>(min, max)(random_);
}

std::string AbusiveClient::RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_());
  return bytes;
}

void AbusiveClient::SendRandomBytes() { connection_->SendRaw(RandomBytes(Random(1, 5000))); }

void AbusiveClient::SendTlsGarbage() {
  // The first bytes are those of a ClientHello.
  connection_->SendRaw(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11) +
                       RandomBytes(Random(0, 600)));
}

void AbusiveClient::SendHalfAHeader() {
  connection_->SendRaw("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nX-Filler: " +
                       std::string(Random(0, 60000), 'a'));
}

void AbusiveClient::SendUploadOfGarbage() {
  const size_t size = Random(0, 20000);
  const bool is_complete = Random(0, 1) == 0;
  connection_->SendRaw("POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                       std::to_string(is_complete ? size : size + Random(1, 1 << 30)) + "\r\n\r\n" +
                       (Random(0, 1) == 0 ? "RIFF" : "fLaC") + RandomBytes(size));
}

void AbusiveClient::SendNothing() {}

void AbusiveClient::SendRandomMessages() {
  for (size_t i = Random(1, 20); i > 0; --i) {
    if (Random(0, 2) == 0) {
      connection_->SendText(RandomBytes(Random(0, 300)));  // not even UTF-8
    } else {
      connection_->SendBinary(RandomBytes(Random(0, 3000)));
    }
  }
}

void AbusiveClient::SendNearlyRightJson() {
  for (size_t i = Random(1, 4); i > 0; --i) {
    std::string message = kMessages[Random(0, std::size(kMessages) - 1)];
    for (size_t changes = Random(0, 3); changes > 0 && !message.empty(); --changes) {
      const size_t place = Random(0, message.size() - 1);
      const char byte = kJsonBytes[Random(0, sizeof(kJsonBytes) - 2)];
      switch (Random(0, 3)) {
        case 0:
          message[place] = byte;
          break;
        case 1:
          message.insert(place, 1, byte);
          break;
        case 2:
          message.erase(place, Random(1, 8));
          break;
        default:
          message.insert(place, message.substr(place, Random(1, 40)));
      }
    }
    connection_->SendText(message);
  }
}

void AbusiveClient::StartTwice() {
  const char* const start = Random(0, 1) == 0 ? kStart : kWenetStart;
  connection_->SendText(start);
  if (Random(0, 1) == 0) connection_->SendBinary(RandomBytes(2 * Random(1, 20000)));
  connection_->SendText(start);
}

void AbusiveClient::SendTextForAudio() {
  connection_->SendText(kStart);
  connection_->SendText(std::string(Random(0, 4000), 'a'));
}

void AbusiveClient::SendOddBytes() {
  const bool is_ours = Random(0, 1) == 0;
  if (is_ours) connection_->SendText(kStart);
  connection_->SendBinary(RandomBytes(2 * Random(0, 20000) + 1));
  connection_->SendText(is_ours ? kFinish : "Done");
}

void AbusiveClient::SendNoNumbers() {
  // float32: NaN, infinity and very large values.
  const float samples[] = {std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::max(), -1e30F};
  std::string bytes(4 * Random(1, 40000), '\0');
  for (size_t i = 0; i < bytes.size(); i += 4) {
    std::memcpy(&bytes[i], &samples[Random(0, 3)], sizeof(float));
  }
  connection_->SendBinary(std::move(bytes));
  connection_->SendText("Done");
}

void AbusiveClient::SendHugeMessage() {
  if (Random(0, 1) == 0) {
    connection_->SendText(std::string(Random(1 << 20, kMaxHugeSize), '['));
  } else {
    connection_->SendText(kStart);
    connection_->SendBinary(std::string(Random(1 << 20, kMaxHugeSize), '\x7F'));
  }
}

void AbusiveClient::SendWrongFrames() {
  switch (Random(0, 4)) {
    case 0:  // a message of 2^62 bytes
      connection_->SendRaw(std::string("\x82\xFF\x40\x00\x00\x00\x00\x00\x00\x00", 10) +
                           RandomBytes(Random(0, 20000)));
      return;
    case 1:  // a frame without a mask
      connection_->SendRaw(std::string("\x81\x05hello", 7));
      return;
    case 2:  // endless fragments
      for (size_t i = Random(1, 2000); i > 0; --i) {
        connection_->SendRaw(std::string("\x00\x81\x01\x02\x03\x04", 6) + RandomBytes(1));
      }
      return;
    case 3:  // very many pings
      for (size_t i = Random(1, 2000); i > 0; --i) {
        connection_->SendRaw(std::string("\x89\x84\x01\x02\x03\x04", 6) + RandomBytes(4));
      }
      return;
    default:
      connection_->SendRaw(RandomBytes(Random(1, 3000)));
  }
}

void AbusiveClient::SendInWrongOrder() {
  for (size_t i = Random(2, 8); i > 0; --i) {
    if (Random(0, 3) == 0) {
      connection_->SendBinary(RandomBytes(Random(0, 8000)));
    } else {
      connection_->SendText(kMessages[Random(0, std::size(kMessages) - 1)]);
    }
  }
}

void AbusiveClient::NeverRead() {
  connection_->StopReading();
  connection_->SendText(kStart);
  for (size_t i = Random(1, 100); i > 0; --i)
    connection_->SendBinary(RandomBytes(2 * Random(1, 4000)));
  if (Random(0, 1) == 0) connection_->SendText(kFinish);
}

}  // namespace runnel::client
