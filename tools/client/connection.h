// An asynchronous WebSocket connection to a server. All callbacks run in the event loop.
#ifndef RUNNEL_TOOLS_CLIENT_CONNECTION_H_
#define RUNNEL_TOOLS_CLIENT_CONNECTION_H_

#include <memory>
#include <string>
#include <string_view>

#include "tools/client/event_loop.h"
#include "tools/client/server_url.h"

namespace runnel::client {

struct ConnectorOptions {
  bool is_insecure = false;  // wss: take any certificate
  std::string ca_file;       // wss: PEM file of the authorities to trust; "": the system's
  std::string bearer_token;  // sent as "Authorization: Bearer ..."; "": none
  double timeout_s = 30;     // for connecting, for handshakes, and for the answer to a ping
};

// Why a connection ended.
struct ConnectionEnd {
  std::string code;     // "refused", "http_503", "tls", "timeout", "closed_1000", "network", ...
  std::string message;  // one line, with the server's URL
  // Whether another try, with this or another server, may succeed.
  bool may_be_retried = false;
};

// No method is called after Close or Abort, or after OnClosed.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void OnOpen() = 0;
  virtual void OnMessage(std::string_view message) = 0;
  // Everything was handed to the network; more can be sent.
  virtual void OnSent() = 0;
  virtual void OnClosed(const ConnectionEnd& end) = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual void SendText(std::string message) = 0;
  virtual void SendBinary(std::string message) = 0;

  // Starts the closing handshake; disconnects when the server has answered or after a timeout.
  virtual void Close() = 0;
  // Disconnects at once, without a closing handshake.
  virtual void Abort() = 0;
};

class Connector {
 public:
  // Throws std::runtime_error when the file of authorities cannot be read.
  Connector(EventLoop* loop, const ConnectorOptions& options);
  ~Connector();

  // `listener` must live until OnClosed, Close or Abort.
  std::shared_ptr<Connection> Connect(const ServerUrl& url, ConnectionListener* listener);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CONNECTION_H_
