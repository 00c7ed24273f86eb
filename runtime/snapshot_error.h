// What is wrong with the bytes of a snapshot.
// Flow: packets -> frontend -> encoder -> runtime (this, below stream) -> tools.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_
#define RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_

#include <stdexcept>

namespace runnel {

// One line: not a snapshot, truncated, corrupt, of a newer format, of another model or word list.
class SnapshotError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_
