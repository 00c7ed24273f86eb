#include "tools/server/transport/listener.h"

#include <boost/asio/dispatch.hpp>
#include <utility>

#include "tools/server/resources/rated_log.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using boost::asio::ip::tcp;

constexpr size_t kPrefixSize = 12;

std::string AddressOf(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "";
  return peer.address().to_string();
}

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
  context.address = NormalAddress(AddressOf(socket));
  const std::string account = AccountOf(context.address);
  context.ticket = admission->AdmitConnection(account, &context.refusal);
  if (context.ticket == nullptr) {
    metrics->CountRejection(Rejection::kConnectionsFull);
    return;  // closes the socket
  }
  // A proxy's connections belong to its clients, which each request's header names.
  if (context.refusal == Refusal::kNone && !services_->access->IsTrusted(context.address)) {
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
  const auto executor = socket.get_executor();
  const auto tls = tls_ == nullptr ? nullptr : tls_->Get();
  boost::asio::dispatch(executor, [this, stream = AnyStream(std::move(socket), tls.get()),
                                   context = std::move(context)]() mutable {
    serve_(std::move(stream), std::move(context));
  });
}

}  // namespace runnel::server
