// The places in which recordings are decoded, which accounts take in turns.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_UPLOAD_PLACES_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_UPLOAD_PLACES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace runnel::server {

// An account gets further places beside its first only while fewer than `num_shared` are taken. The
// others are for the first recording of each account. A free place goes to the account that holds
// fewest, then to the one whose turn is longest ago. The recordings of one account take their turns
// in the order in which they came. Thread-safe.
class UploadPlaces {
 public:
  // Free again with the last copy. May live longer than UploadPlaces, as may a Turn.
  using Place = std::shared_ptr<void>;
  // While it is held, its recording waits.
  using Turn = std::shared_ptr<void>;

  UploadPlaces(int64_t num_places, int64_t num_shared);

  // A place, or null when there is none for the account now.
  Place Take(const std::string& account);

  // `on_place` is called once with a place, from any thread, perhaps before Wait returns; not after
  // the turn was released, but a call that has begun may still run then. It returns soon.
  Turn Wait(const std::string& account, std::function<void(Place place)> on_place);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_UPLOAD_PLACES_H_
