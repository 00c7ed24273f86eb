// Admits connections, streams and uploads while the limits leave slots for them.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/server/resources/limits.h"

namespace runnel::server {

// Holds a slot, which becomes free with the last copy of the ticket. Null: no slot was given.
using Ticket = std::shared_ptr<void>;

enum class Refusal {
  kNone,
  kDraining,           // the server shuts down
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

  // A slot for one stream of a client at `address`, or null and the reason. An upload takes a
  // stream's slot and an upload's slot.
  Ticket AdmitStream(const std::string& address, Refusal* refusal);
  Ticket AdmitUpload(const std::string& address, Refusal* refusal);

  // A slot for a connection from `peer`. Some extra slots exist above the limit, a few of them for
  // each peer. A ticket together with a refusal is such a slot: the connection is answered with the
  // refusal, or with the server's health. Null when the extra slots are taken too: the connection
  // can only be closed.
  Ticket AdmitConnection(const std::string& peer, Refusal* refusal);
  // The same for a connection of the client at `address`, in addition to AdmitConnection.
  Ticket AdmitAddress(const std::string& address, Refusal* refusal);

  // No stream is admitted any more.
  void Drain();
  bool is_draining() const;

  // Whether every address would be refused a stream or a connection now.
  bool is_full() const;
  int64_t num_streams() const;
  int64_t num_connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_
