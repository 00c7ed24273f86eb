#include "tools/server/control/admin_port.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "tools/network/any_stream.h"
#include "tools/server/resources/access.h"
#include "tools/server/transport/http_connection.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
using net::ip::tcp;

constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::seconds kReplyTime{5};
constexpr std::chrono::seconds kLingerTime{1};
constexpr size_t kMaxHeaderBytes = 8192;

HttpConnection::Options ConnectionOptions() {
  HttpConnection::Options options;
  options.max_buffer_bytes = 2 * kMaxHeaderBytes;
  options.send_timeout = kReplyTime;
  options.linger_time = kLingerTime;
  return options;
}

// A connection that needs no slot.
ConnectionContext Context() {
  ConnectionContext context;
  context.id = "admin";
  return context;
}

}  // namespace

// Held by its operations.
class AdminPort::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Answerer answer)
      : connection_(std::make_shared<HttpConnection>(AnyStream(std::move(socket), nullptr),
                                                     Context(), ConnectionOptions())),
        answer_(std::move(answer)) {}

  void Start() {
    parser_.header_limit(static_cast<std::uint32_t>(kMaxHeaderBytes));
    connection_->stream().tcp().expires_after(kRequestTime);
    http::async_read_header(connection_->stream(), connection_->buffer(), parser_,
                            [self = shared_from_this()](const SystemError& error,
                                                        size_t /*count*/) { self->Reply(error); });
  }

  void Close() {
    is_closed_ = true;
    connection_->Close();
  }

 private:
  void Reply(const SystemError& error) {
    if (error || is_closed_) return Close();
    const http::request<http::empty_body>& request = parser_.get();
    const auto method = request.method_string();
    const auto target = request.target();
    HttpConnection::ReplyOptions options;
    options.omits_body = request.method() == http::verb::head;
    connection_->SendReply(answer_({method.data(), method.size()}, {target.data(), target.size()}),
                           options, [self = shared_from_this()](const SystemError& failure) {
                             if (failure) return self->Close();
                             self->connection_->CloseAfterReply(self);  // held until it is closed
                           });
  }

  const std::shared_ptr<HttpConnection> connection_;
  const Answerer answer_;
  http::request_parser<http::empty_body> parser_;
  bool is_closed_ = false;
};

AdminPort::AdminPort(net::io_context* io, const std::string& address, uint16_t port,
                     Answerer answer)
    : acceptor_(io, address, port, [this](tcp::socket socket) { Serve(std::move(socket)); }),
      answer_(std::move(answer)) {}

AdminPort::~AdminPort() {
  for (const Open& one : connections_) {
    if (const auto connection = one.connection.lock()) connection->Close();
  }
}

void AdminPort::Serve(tcp::socket socket) {
  connections_.remove_if([](const Open& one) { return one.connection.expired(); });
  if (connections_.size() >= kMostConnections) MakeRoom();
  std::string account = AccountOf(PeerAddress(socket));
  const auto connection = std::make_shared<Connection>(std::move(socket), answer_);
  connections_.push_back({std::move(account), connection});
  connection->Start();
}

// Whoever opens connections without end keeps no probe of another address from its answer.
void AdminPort::MakeRoom() {
  std::unordered_map<std::string, size_t> counts;
  for (const Open& one : connections_) ++counts[one.account];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [&](const Open& one) { return one.account == most->first; });
  if (const auto connection = oldest->connection.lock()) connection->Close();
  connections_.erase(oldest);
}

}  // namespace runnel::server
