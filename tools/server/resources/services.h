// What all connections of a server share.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_SERVICES_H_
#define RUNNEL_TOOLS_SERVER_SERVICES_H_

#include <memory>

#include "runtime/recognizer.h"
#include "runtime/stream.h"
#include "tools/server/admission.h"
#include "tools/server/limits.h"
#include "tools/server/metrics.h"
#include "tools/server/snapshot_store.h"
#include "tools/server/task_threads.h"

namespace runnel::server {

// Every part is thread-safe and outlives the connections.
struct Services {
  Limits limits;
  StreamOptions default_options;  // in place of what a client leaves to the server
  double snapshot_interval_s = 2;
  // For the store, while somebody waits: of a client that resumes, and of one that is to be told
  // that the server ends.
  double resume_patience_s = 5;
  double drain_patience_s = 2;

  Recognizer* recognizer = nullptr;
  Admission* admission = nullptr;
  Metrics* metrics = nullptr;
  SnapshotStore* snapshot_store = nullptr;  // null: streams cannot be resumed
  TaskThreads* store_threads = nullptr;     // for the store
  TaskThreads* file_threads = nullptr;      // for uploaded recordings, and long results
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SERVICES_H_
