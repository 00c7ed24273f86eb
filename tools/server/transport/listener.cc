#include "tools/server/transport/listener.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <utility>

#include "tools/server/resources/rated_log.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using boost::asio::ip::tcp;

constexpr size_t kPrefixSize = 12;

}  // namespace

Listener::Listener(boost::asio::io_context* io, const std::string& address, uint16_t port,
                   const Replaceable<boost::asio::ssl::context>* tls,
                   const ConnectionServices* services, Serve serve)
    : acceptor_(io, address, port, [this](tcp::socket socket) { OnAccept(std::move(socket)); }),
      tls_(tls),
      services_(services),
      serve_(std::move(serve)),
      prefix_(NewSnapshotToken().substr(0, kPrefixSize)) {}

void Listener::OnAccept(tcp::socket socket) {
  Metrics* metrics = services_->services->metrics;
  Admission* admission = services_->services->admission;
  ConnectionContext context;
  context.address = PeerAddress(socket);
  if (context.address.empty()) return;
  const std::string account = AccountOf(context.address);
  context.ticket = admission->AdmitConnection(account, &context.refusal);
  if (context.ticket == nullptr) {
    metrics->CountRejection(Rejection::kConnectionsFull);
    return;  // closes the socket
  }
  // A proxy's connections belong to its clients, which each request's header names.
  const bool is_proxy = services_->access->IsTrusted(context.address);
  if (context.refusal == Refusal::kNone && !is_proxy) {
    context.address_ticket = admission->AdmitAddress(account, &context.refusal);
    if (context.address_ticket == nullptr) {
      metrics->CountRejection(Rejection::kAddressConnectionsFull);
      return;
    }
  }
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  context.shared = services_;
  context.id = prefix_ + "-" + std::to_string(++num_accepted_);
  // Each request of a proxy has its own turn.
  const Clock::time_point now = Clock::now();
  const Clock::time_point start = is_proxy ? now : admission->connection_rate().Next(account, now);
  if (start > now) metrics->CountPause(Pause::kConnections);
  ServeAt(start, std::move(socket), std::move(context));
}

// The sockets of an account that waits cost nothing but their slots, which others may have.
void Listener::ServeAt(Clock::time_point start, tcp::socket socket, ConnectionContext context) {
  const auto executor = socket.get_executor();
  const auto tls = tls_ == nullptr ? nullptr : tls_->Get();
  const auto timer = std::make_shared<boost::asio::steady_timer>(executor, start);
  context.ticket->Offer(Clock::duration::zero(), [weak = std::weak_ptr(timer), executor] {
    boost::asio::post(executor, [weak] {
      if (const auto held = weak.lock()) held->cancel();
    });
  });
  timer->async_wait([serve = serve_, timer, stream = AnyStream(std::move(socket), tls.get()),
                     context = std::move(context)](const SystemError& given_up) mutable {
    if (!given_up) serve(std::move(stream), std::move(context));
  });
}

}  // namespace runnel::server
