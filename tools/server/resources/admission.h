// Admits connections, streams and recordings while the limits leave slots for them, and says what a
// client is told that gets none.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/server/protocol/protocol_error.h"
#include "tools/server/resources/connection_rate.h"
#include "tools/server/resources/limits.h"
#include "tools/server/resources/metrics.h"
#include "tools/server/resources/shares.h"
#include "tools/server/resources/upload_places.h"

namespace runnel::server {

// Thread-safe.
class Slot {
 public:
  // `share`: that others may need; null: none. `rest`: what else is given back with the slot.
  explicit Slot(std::shared_ptr<Shares::Share> share, std::shared_ptr<void> rest = nullptr)
      : share_(std::move(share)), rest_(std::move(rest)) {}

  // The client works with it: it sent audio, or a part of a body.
  void Use() {
    if (share_ != nullptr) share_->Use(std::chrono::steady_clock::now());
  }

  // As Shares::Share::Offer. The owner then ends what needs the slot, with an error.
  void Offer(std::chrono::steady_clock::duration patience, std::function<void()> give_up) {
    if (share_ != nullptr) share_->Offer(patience, std::move(give_up));
  }

 private:
  const std::shared_ptr<Shares::Share> share_;
  const std::shared_ptr<void> rest_;
};

// Holds a slot, which becomes free with the last copy of the ticket. Null: no slot was given.
using Ticket = std::shared_ptr<Slot>;

// A stream that sends no audio, and a body that does not arrive, for so long, or for less (Shares),
// gives up its slot when the server is full.
constexpr std::chrono::seconds kIdlePatience{10};

enum class Refusal {
  kNone,
  kDraining,           // the server shuts down
  kStreams,            // max_streams
  kAddress,            // max_streams_per_address
  kUploads,            // max_uploads
  kMediaStreams,       // max_media_streams
  kAddressMedia,       // half of max_media_streams
  kConnections,        // max_connections
  kAddressConnections  // max_connections_per_address
};

// What a client is told that was refused a slot: kDraining, kFull or kAddressFull. Counts the
// rejection.
ProtocolError RefusalError(Refusal refusal, Metrics* metrics);

// Thread-safe. Tickets may live longer than the Admission. `account`: of the client (AccountOf).
class Admission {
 public:
  explicit Admission(const Limits& limits);

  // A slot for a stream or a recording, or null and the reason. When the server is full, a slot of
  // another account that was offered is taken (Shares).
  Ticket AdmitStream(const std::string& account, Refusal* refusal);
  // The same together with a place for decoding, without waiting.
  Ticket AdmitUpload(const std::string& account, Refusal* refusal);

  // A place for a stream that has a slot and needs a process to decode its audio. An account gets
  // half of the places at most, unless max_streams_per_address is 0.
  Ticket AdmitMediaStream(const std::string& account, Refusal* refusal);

  // The places of max_uploads, for recordings that have arrived and have a slot.
  UploadPlaces& places() { return places_; }
  // The bytes of bodies in memory, of max_bodies_mb.
  Shares& bodies() { return bodies_; }

  // A slot for a connection. Some extra slots exist above the limit, a few of them for each
  // account. A ticket together with a refusal is such a slot: the connection is answered with the
  // refusal, or with the server's health. Null when the extra slots are taken too: the connection
  // can only be closed.
  Ticket AdmitConnection(const std::string& account, Refusal* refusal);
  // When it may begin.
  ConnectionRate& connection_rate() { return connection_rate_; }
  // The same for a connection of the client, in addition to AdmitConnection.
  Ticket AdmitAddress(const std::string& account, Refusal* refusal);

  // No stream is admitted any more.
  void Drain();
  bool is_draining() const;

  // Whether a client that has no stream would be refused one, or any client a connection.
  bool is_full() const;
  int64_t num_streams() const;
  int64_t num_connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  Shares streams_;
  Shares media_streams_;
  Shares connections_;
  ConnectionRate connection_rate_;
  UploadPlaces places_;
  Shares bodies_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_ADMISSION_H_
