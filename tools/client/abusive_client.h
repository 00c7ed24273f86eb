// A client that attacks a server in many ways, one attack after another.
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

// The seed determines the attacks, their order and their bytes: garbage as TLS, HTTP or WebSocket
// frames, endless headers and messages, messages of many MiB, almost valid JSON, messages in a
// wrong order, invalid audio, silent connections, and clients that do not read. Goes on until it is
// destroyed and ignores the answers of the server.
class AbusiveClient : private ConnectionListener {
 public:
  AbusiveClient(EventLoop* loop, Connector* connector, const std::vector<ServerUrl>& servers,
                uint32_t seed, LoadStatistics* statistics);
  ~AbusiveClient() override;
  AbusiveClient(const AbusiveClient&) = delete;
  AbusiveClient& operator=(const AbusiveClient&) = delete;

 private:
  struct Attack {
    bool is_raw;  // replaces the WebSocket handshake
    void (AbusiveClient::*run)();
  };
  static const std::vector<Attack>& Attacks();

  void OnOpen() override;
  void OnMessage(std::string_view message) override;
  void OnSent() override {}
  void OnClosed(const ConnectionEnd& end) override;

  void Next();
  void Leave();

  // Attacks that replace the WebSocket handshake.
  void SendRandomBytes();
  void SendTlsGarbage();
  void SendHalfAHeader();
  void SendUploadOfGarbage();
  void SendNothing();
  // Attacks over WebSocket.
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

  Connector* const connector_;
  const std::vector<ServerUrl> servers_;
  LoadStatistics* const statistics_;
  std::mt19937 random_;
  const Attack* attack_ = nullptr;
  std::shared_ptr<Connection> connection_;
  Timer next_timer_;
  Timer leave_timer_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_ABUSIVE_CLIENT_H_
