// One WebSocket connection to a server, without waiting: everything is called back in the loop.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below client/session).
#ifndef RUNNEL_TOOLS_CLIENT_CONNECTION_H_
#define RUNNEL_TOOLS_CLIENT_CONNECTION_H_

#include <cstddef>
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
  double timeout_s = 30;     // for connecting, for handshakes, and of a server that says nothing,
                             // not even to a ping
};

// Why a connection ended.
struct ConnectionEnd {
  std::string code;     // "refused", "http_503", "tls", "timeout", "closed_1000", "network", ...
  std::string message;  // one line, with the server's URL
  // The server may take the stream a little later, or another server may.
  bool may_be_retried = false;
};

// None is called after Close or Abort, and none after OnClosed.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void OnOpen() = 0;
  virtual void OnMessage(std::string_view message) = 0;
  // All that was to be sent is on its way: the moment to send more.
  virtual void OnSent() = 0;
  virtual void OnClosed(const ConnectionEnd& end) = 0;
};

class Connection {
 public:
  virtual ~Connection() = default;

  virtual void SendText(std::string message) = 0;
  // `data` must stay as it is until OnSent, or the end of the connection.
  virtual void SendBinary(const void* data, size_t size) = 0;
  // Bytes as they are behind the handshake, where frames belong: what no decent client does.
  virtual void SendRaw(std::string bytes) = 0;
  // Reads no more: what a client does that hangs.
  virtual void StopReading() = 0;

  // Says goodbye, and lets go when the server has answered or the time is over.
  virtual void Close() = 0;
  // Lets go at once, as a client that vanishes.
  virtual void Abort() = 0;
};

class Connector {
 public:
  // Throws std::runtime_error when the file of authorities cannot be read.
  Connector(EventLoop* loop, const ConnectorOptions& options);
  ~Connector();

  // `listener` must live until OnClosed, Close or Abort.
  std::shared_ptr<Connection> Connect(const ServerUrl& url, ConnectionListener* listener);
  // The same without any handshake: only SendRaw makes sense.
  std::shared_ptr<Connection> ConnectRaw(const ServerUrl& url, ConnectionListener* listener);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CONNECTION_H_
