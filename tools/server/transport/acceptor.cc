#include "tools/server/transport/acceptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tools/server/resources/access.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

using boost::asio::ip::tcp;

constexpr std::chrono::milliseconds kRetryAfter{100};

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

}  // namespace

std::string PeerAddress(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? "" : NormalAddress(peer.address().to_string());
}

Acceptor::Acceptor(boost::asio::io_context* io, const std::string& address, uint16_t port,
                   OnSocket on_socket)
    : io_(io),
      acceptor_(Listen(io, address, port)),
      on_socket_(std::move(on_socket)),
      retry_timer_(*io) {
  TakeSpare();
}

Acceptor::~Acceptor() { ReleaseSpare(); }

void Acceptor::Start() { Accept(); }

void Acceptor::Accept() {
  acceptor_.async_accept(
      boost::asio::make_strand(*io_), [this, alive = std::weak_ptr<Alive>(alive_)](
                                          boost::system::error_code error, tcp::socket socket) {
        // A connection may have been accepted just before the end of this object.
        if (error == boost::asio::error::operation_aborted || alive.expired()) return;
        if (error) return OnFailure(error.message());
        TakeSpare();
        try {
          on_socket_(std::move(socket));
        } catch (const std::exception& failure) {
          LogRated(LogLevel::kError, "cannot serve a connection", failure.what());
        }
        Accept();
      });
}

void Acceptor::OnFailure(const std::string& message) {
  LogRated(LogLevel::kWarning, "cannot accept a connection", message);
  if (ReleaseSpare()) return Accept();
  retry_timer_.expires_after(kRetryAfter);
  retry_timer_.async_wait(
      [this, alive = std::weak_ptr<Alive>(alive_)](boost::system::error_code stopped) {
        if (stopped || alive.expired()) return;
        TakeSpare();
        Accept();
      });
}

// Without effect when no descriptor is free.
void Acceptor::TakeSpare() {
  if (spare_ < 0) spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool Acceptor::ReleaseSpare() {
  if (spare_ < 0) return false;
  ::close(std::exchange(spare_, -1));
  return true;
}

}  // namespace runnel::server
