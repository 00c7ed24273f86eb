// Who is let in: counts connections, streams and uploads against the limits.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_ADMISSION_H_
#define RUNNEL_TOOLS_SERVER_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/server/limits.h"

namespace runnel::server {

// A place that was given; letting go of it gives it back. Empty: none was given.
using Ticket = std::shared_ptr<void>;

enum class Refusal {
  kNone,
  kDraining,           // the server is going to end
  kStreams,            // max_streams
  kAddress,            // max_streams_per_address
  kUploads,            // max_uploads
  kConnections,        // max_connections
  kAddressConnections  // max_connections_per_address
};

// Thread-safe. Tickets may live longer than the Admission.
class Admission {
 public:
  explicit Admission(const Limits& limits);

  // A place for one stream of a client at `address`, or an empty ticket and why. An upload takes a
  // stream's place and one of the uploads'.
  Ticket AdmitStream(const std::string& address, Refusal* refusal);
  Ticket AdmitUpload(const std::string& address, Refusal* refusal);

  // A place for a connection from `peer`. Above the limit there are some more, a few of them for
  // each peer, hence a ticket and why not: who has one is told so by HTTP, and may ask how the
  // server is. Empty when these are taken too: the next can only be cut off.
  Ticket AdmitConnection(const std::string& peer, Refusal* refusal);
  // The same for the connections of the client at `address`, which take a place above, too.
  Ticket AdmitAddress(const std::string& address, Refusal* refusal);

  // From now on no stream is let in.
  void Drain();
  bool is_draining() const;

  // Whether any address would be refused a stream, or a connection, now.
  bool is_full() const;
  int64_t num_streams() const;
  int64_t num_connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_ADMISSION_H_
