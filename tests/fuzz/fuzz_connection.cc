// Bytes of a connection to a whole server with the tiny model: HTTP, WebSocket, gRPC or Wyoming.
//
// The input: its port and how the client begins (1 byte), how the client ends (1 byte), the sizes
// of two pieces in which the rest is sent by turns (2 bytes; 0: all), and the rest. The server runs
// in this process for all inputs. An input is over when the server has closed the connection and
// has no stream left, so that inputs do not affect each other.
#include <arpa/inet.h>
#include <glog/logging.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/model.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/without_media.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/server.h"

namespace {

using runnel::fuzz::Require;

// The port of "host:port" or "http://host:port".
uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

runnel::server::ServerOptions Options() {
  runnel::server::ServerOptions options;
  options.port = 0;
#ifdef RUNNEL_WITH_GRPC
  options.grpc_port = 0;
#endif
  options.wyoming_port = 0;
  options.recognizer.num_threads = 1;
  runnel::server::Limits& limits = options.limits;
  limits.max_audio_s = 10;
  limits.max_recording_s = 10;
  limits.max_body_mb = 1;
  limits.max_message_bytes = 1 << 16;
  limits.max_left_context = 16;
  limits.max_beam_size = 4;
  limits.max_nbest = 4;
  limits.max_previews = 1;
  limits.max_speed = 0;
  return options;
}

// Ends with the process.
class Server {
 public:
  Server() {
    ::signal(SIGPIPE, SIG_IGN);
    FLAGS_minloglevel = google::GLOG_ERROR;
    std::promise<runnel::server::ServerAddresses> listening;
    thread_ = std::thread([&listening, options = Options()] {
      runnel::server::RunServer(
          runnel::Model::Load(RUNNEL_SOURCE_DIR "/tests/golden/encoder/tiny.pt"), options,
          [&listening](const auto& addresses) { listening.set_value(addresses); });
    });
    const runnel::server::ServerAddresses addresses = listening.get_future().get();
    http_ = PortOf(addresses.url);
    wyoming_ = PortOf(addresses.wyoming);
    grpc_ = addresses.grpc.empty() ? http_ : PortOf(addresses.grpc);
  }
  ~Server() {
    ::raise(SIGTERM);
    thread_.join();
  }

  uint16_t http() const { return http_; }
  uint16_t grpc() const { return grpc_; }
  uint16_t wyoming() const { return wyoming_; }

 private:
  std::thread thread_;
  uint16_t http_ = 0;
  uint16_t grpc_ = 0;
  uint16_t wyoming_ = 0;
};

class Connection {
 public:
  explicit Connection(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Require(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
            "the server accepts connections");
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for the server to read. False when it has closed the connection.
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // Reads what there is; all when `flags` is 0: until the server closes.
  std::string Read(int flags) const {
    std::string answer;
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), flags);
      if (count <= 0) return answer;
      answer.append(bytes.data(), static_cast<size_t>(count));
    }
  }
  // Waits for the end of a header.
  void ReadHeader() const {
    char byte = 0;
    for (std::string header; header.size() < 4 || header.substr(header.size() - 4) != "\r\n\r\n";) {
      if (::recv(socket_, &byte, 1, 0) != 1) return;
      header += byte;
    }
  }
  void EndSending() const { ::shutdown(socket_, SHUT_WR); }
  // The end of the object resets the connection.
  void ResetAtEnd() const {
    const linger at_once = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }

 private:
  const int socket_;
};

// How the client begins: what it sends before the input.
struct Beginning {
  uint16_t (Server::*port)() const;
  const char* path;  // of a WebSocket; null: none
};
constexpr std::array<Beginning, 8> kBeginnings = {{{&Server::http, nullptr},
                                                   {&Server::grpc, nullptr},
                                                   {&Server::wyoming, nullptr},
                                                   {&Server::http, "/v1/stream"},
                                                   {&Server::http, "/v1/realtime"},
                                                   {&Server::http, "/v1/listen"},
                                                   {&Server::http, "/vosk"},
                                                   {&Server::http, "/"}}};

void Upgrade(const Connection& connection, const std::string& path) {
  connection.Send("GET " + path +
                  " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
                  "\r\n");
  connection.ReadHeader();
}

// Reads answers meanwhile, so that neither side waits for the other.
void SendInPieces(const Connection& connection, std::string_view bytes, size_t one, size_t other) {
  for (size_t size = one; !bytes.empty(); size = size == one ? other : one) {
    const std::string_view piece = bytes.substr(0, size == 0 ? bytes.size() : size);
    if (!connection.Send(piece)) return;
    bytes.remove_prefix(piece.size());
    connection.Read(MSG_DONTWAIT);
  }
}

// The value of a series of /metrics; also shows that the server goes on.
double Metric(const Server& server, const std::string& name) {
  const Connection connection(server.http());
  connection.Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answer = connection.Read(0);
  const size_t at = answer.find("\n" + name + " ");
  Require(at != std::string::npos, "the server answers");
  return std::strtod(answer.c_str() + at + name.size() + 2, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 4;
  // Of the whole process: gRPC, JSON and audio. A byte of mu-law at 1 kHz is a millisecond of
  // audio.
  constexpr double kBaseS = 1;
  constexpr double kPerByteS = 0.0002;
  runnel::fuzz::DecodeWithoutMedia();
  static const Server server;
  if (size < kHead) return 0;
  const runnel::fuzz::WorkBound work(CLOCK_PROCESS_CPUTIME_ID);
  const Beginning& beginning = kBeginnings[data[0] % kBeginnings.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + kHead, size - kHead);
  {
    const Connection connection((server.*beginning.port)());
    if (beginning.path != nullptr) Upgrade(connection, beginning.path);
    SendInPieces(connection, bytes, data[2], data[3]);
    if (data[1] % 2 == 0) {
      connection.EndSending();
      connection.Read(0);
    } else {
      connection.ResetAtEnd();
    }
  }
  while (Metric(server, "runnel_streams") > 0) std::this_thread::yield();
  if (!work.Holds(kBaseS + kPerByteS * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  return 0;
}
