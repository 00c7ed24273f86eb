// The exception that says why a snapshot of a stream cannot be restored.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_
#define RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_

#include <stdexcept>

namespace runnel {

// The message is one line: the bytes are not a snapshot, truncated, corrupt, inconsistent, of a
// newer format version, of another model or of another word list.
class SnapshotError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_ERROR_H_
