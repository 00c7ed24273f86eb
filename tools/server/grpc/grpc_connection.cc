#include "tools/server/grpc/grpc_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/grpc/connection_calls.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

using Clock = std::chrono::steady_clock;
using LocalSocket = net::local::stream_protocol::socket;

// Of each direction.
constexpr size_t kBufferBytes = 8192;
// Of a call's header beside what limits.max_header_bytes counts: names that HTTP/2 adds.
constexpr size_t kHeaderSlack = 1024;
// For a client that goes away to read the end and to close.
constexpr std::chrono::seconds kLingerTime{2};
// Between two looks whether a call that waits has a place.
constexpr std::chrono::milliseconds kPlaceStep{50};

// All members on the stream's strand. An operation that is under way holds the connection.
class GrpcConnection : public std::enable_shared_from_this<GrpcConnection> {
 public:
  GrpcConnection(AnyStream stream, ConnectionContext context, std::shared_ptr<GrpcGate> gate)
      : client_(std::move(stream)),
        server_(client_.get_executor()),
        timer_(client_.get_executor()),
        context_(std::move(context)),
        gate_(std::move(gate)),
        peer_(std::make_shared<GrpcPeer>(context_.address, context_.ticket)),
        calls_(
            &gate_->places,
            context_.shared->access->IsTrusted(context_.address) ? "" : context_.client().account,
            static_cast<size_t>(limits().max_header_bytes) + kHeaderSlack,
            [this](size_t num_bytes) { return TakeMemory(num_bytes); }, &peer_->progress) {}

  void Start() {
    timer_.SetHandler(weak_from_this(), [this] { Guard([this] { OnTimer(); }); });
    Guard([this] {
      if (context_.refusal != Refusal::kNone) return Refuse(context_.refusal);
      if (services().admission->is_draining()) return Refuse(Refusal::kDraining);
      if (!client_.has_tls()) return Begin();
      SetDeadline(&begin_deadline_, limits().handshake_timeout_s);
      client_.async_handshake(net::ssl::stream_base::server,
                              [self = shared_from_this()](SystemError error) {
                                self->Guard([&] { error ? self->End() : self->Begin(); });
                              });
    });
  }

 private:
  const Services& services() const { return *context_.shared->services; }
  const Limits& limits() const { return services().limits; }

  // An exception ends this connection only.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      LogRated(LogLevel::kInfo, "gRPC connection", context_.id + ": " + error.what());
      services().metrics->CountRejection(Rejection::kBadRequest);
      End();
    }
  }

  void Begin() {
    if (is_closed_) return;
    Connect();
    SetDeadline(&begin_deadline_, limits().header_timeout_s);
    peer_->slot->Offer(Rejecting(Rejection::kIdle, "has no call that sends audio"));
    WatchForLoss();
    ReadClient();
    ReadServer();
  }

  void Connect() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot connect to gRPC");
    }
    server_.assign(net::local::stream_protocol(), ends[0]);
    gate_->peers.Set(ends[1], peer_);
    gate_->open(ends[1]);
  }

  // A client that cannot connect tries again later; one that was told more would do so at once.
  void Refuse(Refusal refusal) {
    const ProtocolError error = RefusalError(refusal, services().metrics);
    LogRated(LogLevel::kInfo, "gRPC connection", context_.id + ": " + error.message);
    End();
  }

  // Notices a client that has gone while a call of it waits.
  void WatchForLoss() {
    client_.async_wait_for_loss([self = shared_from_this()](SystemError error) {
      if (!error) self->End();
    });
  }

  void ReadClient() {
    client_.async_read_some(net::buffer(from_client_),
                            [self = shared_from_this()](SystemError error, size_t count) {
                              self->Guard([&] { self->OnClient(error, count); });
                            });
  }

  void OnClient(const SystemError& error, size_t count) {
    if (error) return End();
    received_ = {from_client_.data(), count};
    PassOn();
  }

  // Gives gRPC what has come, as far as the places for calls allow it.
  void PassOn() {
    if (is_closed_) return;
    passed_.clear();
    const bool has_passed_all = calls_.FromClient(&received_, Clock::now(), &passed_);
    if (calls_.has_begun()) begin_deadline_ = Clock::time_point::max();
    if (Leave()) {
      is_waiting_ = false;
      return ReadClient();
    }
    if (passed_.empty()) return has_passed_all ? ReadClient() : WaitForPlace();
    is_waiting_ = false;
    net::async_write(server_, net::buffer(passed_),
                     [self = shared_from_this()](SystemError error, size_t /*count*/) {
                       if (error) return self->End();
                       self->Guard([&] { self->PassOn(); });
                     });
  }

  // Of the memory for bodies. The account that holds most of it loses what it holds, and with it
  // the connection: gRPC cannot drop one message.
  std::shared_ptr<void> TakeMemory(size_t num_bytes) {
    auto share = services().admission->bodies().Take(context_.client().account,
                                                     static_cast<int64_t>(num_bytes), Clock::now());
    if (share == nullptr) return nullptr;
    share->Offer({}, Rejecting(Rejection::kUploadsFull, "held most memory"));
    return share;
  }

  // For other threads.
  std::function<void()> Rejecting(Rejection reason, const char* what) {
    return [weak = weak_from_this(), executor = client_.get_executor(), reason, what] {
      net::post(executor, [weak, reason, what] {
        if (const auto self = weak.lock()) self->Reject(reason, what);
      });
    };
  }

  void WaitForPlace() {
    if (!is_waiting_) SetDeadline(&place_deadline_, limits().send_timeout_s);
    is_waiting_ = true;
    timer_.WakeBy(Clock::now() + kPlaceStep);
  }

  void ReadServer() {
    server_.async_read_some(net::buffer(from_server_),
                            [self = shared_from_this()](SystemError error, size_t count) {
                              self->Guard([&] { self->OnServer(error, count); });
                            });
  }

  void OnServer(const SystemError& error, size_t count) {
    if (is_leaving_) return;
    if (error) return End();
    calls_.FromServer({from_server_.data(), count});
    SetDeadline(&write_deadline_, limits().send_timeout_s);
    net::async_write(client_, net::buffer(from_server_.data(), count),
                     [self = shared_from_this()](SystemError failure, size_t /*count*/) {
                       if (failure) return self->End();
                       self->write_deadline_ = Clock::time_point::max();
                       if (!self->Leave()) self->Guard([&] { self->ReadServer(); });
                     });
  }

  // Whether the client has gone away and was sent everything. What it still sends is read and
  // dropped: a socket that is closed with unread input loses what it has not sent yet.
  bool Leave() {
    if (is_leaving_) return true;
    const bool is_writing = write_deadline_ != Clock::time_point::max();
    if (is_closed_ || is_writing || !calls_.is_over()) return false;
    is_leaving_ = true;
    leave_deadline_ = Clock::now() + kLingerTime;
    timer_.WakeBy(leave_deadline_);
    SystemError ignored;
    client_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    return true;
  }

  void SetDeadline(Clock::time_point* deadline, double seconds) {
    *deadline = Clock::now() + Seconds(seconds);
    timer_.WakeBy(*deadline);
  }

  void OnTimer() {
    if (is_closed_) return;
    const Clock::time_point now = Clock::now();
    if (now >= begin_deadline_) return Reject(Rejection::kHeaderTimeout, "does not begin");
    if (now >= write_deadline_) return Reject(Rejection::kSlowReader, "does not read");
    if (is_waiting_ && now >= place_deadline_) {
      return Reject(Rejection::kAddressFull, "has too many calls open");
    }
    if (now >= leave_deadline_) return End();
    timer_.WakeBy(std::min({begin_deadline_, write_deadline_, leave_deadline_}));
    if (is_waiting_) PassOn();
  }

  void Reject(Rejection reason, const char* what) {
    if (is_closed_) return;
    services().metrics->CountRejection(reason);
    LogRated(LogLevel::kInfo, "gRPC connection", context_.id + ": the client " + what);
    End();
  }

  // gRPC sees the end of its connection, and cancels the calls.
  void End() {
    if (std::exchange(is_closed_, true)) return;
    timer_.Cancel();
    client_.Close();
    SystemError ignored;
    server_.close(ignored);
  }

  AnyStream client_;
  LocalSocket server_;
  WakeTimer timer_;
  ConnectionContext context_;
  const std::shared_ptr<GrpcGate> gate_;
  const std::shared_ptr<GrpcPeer> peer_;
  ConnectionCalls calls_;
  std::array<char, kBufferBytes> from_client_;
  std::string_view received_;  // part of from_client_ that was not passed on
  std::string passed_;         // what gRPC is being sent
  std::array<char, kBufferBytes> from_server_;
  Clock::time_point begin_deadline_ = Clock::time_point::max();  // of the first frame
  Clock::time_point write_deadline_ = Clock::time_point::max();
  Clock::time_point leave_deadline_ = Clock::time_point::max();
  Clock::time_point place_deadline_;
  bool is_waiting_ = false;  // for a place
  bool is_leaving_ = false;
  bool is_closed_ = false;
};

}  // namespace

void ServeGrpc(AnyStream stream, ConnectionContext context, std::shared_ptr<GrpcGate> gate) {
  std::make_shared<GrpcConnection>(std::move(stream), std::move(context), std::move(gate))->Start();
}

}  // namespace runnel::server
