// A neighbour that sends what no decent client sends, attack after attack.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below load_client).
#ifndef RUNNEL_TOOLS_CLIENT_ABUSIVE_CLIENT_H_
#define RUNNEL_TOOLS_CLIENT_ABUSIVE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tools/client/connection.h"
#include "tools/client/event_loop.h"
#include "tools/client/load_statistics.h"
#include "tools/client/server_url.h"

namespace runnel::client {

// Which attacks it makes, in which order and with which bytes, follows from the seed: garbage for
// TLS, HTTP and WebSocket frames, headers and messages that never end, messages of many MiB, JSON
// that is nearly right, messages in a wrong order, audio that is none, connections that say
// nothing, and clients that do not read. Goes on until it is destroyed; what the server answers is
// no matter.
class AbusiveClient : private ConnectionListener {
 public:
  AbusiveClient(EventLoop* loop, Connector* connector, const std::vector<ServerUrl>& servers,
                uint32_t seed, LoadStatistics* statistics);
  ~AbusiveClient() override;
  AbusiveClient(const AbusiveClient&) = delete;
  AbusiveClient& operator=(const AbusiveClient&) = delete;

 private:
  struct Attack {
    bool is_raw;  // instead of a handshake
    void (AbusiveClient::*run)();
  };
  static const std::vector<Attack>& Attacks();

  void OnOpen() override;
  void OnMessage(std::string_view message) override;
  void OnSent() override {}
  void OnClosed(const ConnectionEnd& end) override;

  void Next();
  void Leave();

  // Attacks instead of a handshake.
  void SendRandomBytes();
  void SendTlsGarbage();
  void SendHalfAHeader();
  void SendUploadOfGarbage();
  void SendNothing();
  // Attacks by WebSocket.
  void SendRandomMessages();
  void SendNearlyRightJson();
  void StartTwice();
  void SendTextForAudio();
  void SendOddBytes();
  void SendNoNumbers();
  void SendHugeMessage();
  void SendWrongFrames();
  void SendInWrongOrder();
  void NeverRead();

  size_t Random(size_t min, size_t max);
  std::string RandomBytes(size_t size);
  // Keeps the bytes until the connection has ended.
  void SendBinary(std::string bytes);

  Connector* const connector_;
  const std::vector<ServerUrl> servers_;
  LoadStatistics* const statistics_;
  std::mt19937 random_;
  const Attack* attack_ = nullptr;
  std::shared_ptr<Connection> connection_;
  std::vector<std::shared_ptr<const std::string>> sent_;
  Timer next_timer_;
  Timer leave_timer_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_ABUSIVE_CLIENT_H_
