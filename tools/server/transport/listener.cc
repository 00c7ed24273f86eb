#include "tools/server/transport/listener.h"

#include <glog/logging.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using boost::asio::ip::tcp;

// The pause after a failed accept, for example when descriptors or memory are exhausted.
constexpr std::chrono::milliseconds kRetryAfter{100};
constexpr size_t kPrefixSize = 12;

tcp::acceptor Listen(boost::asio::io_context* io, const std::string& address, uint16_t port) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error) {
    throw std::invalid_argument("--listen is '" + address + "', expected an IP address");
  }
  try {
    return tcp::acceptor(*io, tcp::endpoint(parsed, port), /*reuse_addr=*/true);
  } catch (const boost::system::system_error& failure) {
    throw std::runtime_error("cannot listen on " + address + " port " + std::to_string(port) +
                             ": " + failure.code().message());
  }
}

std::string AddressOf(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "";
  return peer.address().to_string();
}

}  // namespace

Listener::Listener(boost::asio::io_context* io, const std::string& address, uint16_t port,
                   boost::asio::ssl::context* tls, const ConnectionServices* services, Serve serve)
    : io_(io),
      acceptor_(Listen(io, address, port)),
      retry_timer_(*io),
      tls_(tls),
      services_(services),
      serve_(std::move(serve)),
      prefix_(NewSnapshotToken().substr(0, kPrefixSize)) {}

void Listener::Start() { Accept(); }

void Listener::Accept() {
  acceptor_.async_accept(boost::asio::make_strand(*io_),
                         [this](boost::system::error_code error, tcp::socket socket) {
                           if (error == boost::asio::error::operation_aborted) return;
                           if (!error) {
                             OnAccept(std::move(socket));
                             return Accept();
                           }
                           LOG(WARNING) << "cannot accept a connection: " << error.message();
                           retry_timer_.expires_after(kRetryAfter);
                           retry_timer_.async_wait([this](boost::system::error_code stopped) {
                             if (!stopped) Accept();
                           });
                         });
}

void Listener::OnAccept(tcp::socket socket) {
  try {
    Metrics* metrics = services_->services->metrics;
    Admission* admission = services_->services->admission;
    ConnectionContext context;
    context.address = NormalAddress(AddressOf(socket));
    context.ticket = admission->AdmitConnection(context.address, &context.refusal);
    if (context.ticket == nullptr) {
      metrics->CountRejection(Rejection::kConnectionsFull);
      return;  // closes the socket
    }
    // A proxy's connections belong to its clients, which each request's header names.
    if (context.refusal == Refusal::kNone && !services_->access->IsTrusted(context.address)) {
      context.address_ticket = admission->AdmitAddress(context.address, &context.refusal);
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
    boost::asio::dispatch(executor, [this, stream = AnyStream(std::move(socket), tls_),
                                     context = std::move(context)]() mutable {
      serve_(std::move(stream), std::move(context));
    });
  } catch (const std::exception& error) {
    LOG(ERROR) << "cannot serve a connection: " << error.what();
  }
}

}  // namespace runnel::server
