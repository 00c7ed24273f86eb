// The parts of a server that all connections share.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_SERVICES_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_SERVICES_H_

#include <chrono>
#include <string>

#include "runtime/options/stream_options.h"
#include "runtime/recognizer.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/input_budget.h"
#include "tools/server/resources/limits.h"
#include "tools/server/resources/metrics.h"
#include "tools/server/resources/replaceable.h"
#include "tools/server/resources/task_threads.h"
#include "tools/server/store/snapshot_store.h"

namespace runnel::server {

// Whose work it is.
struct Client {
  std::string id;       // of the connection, for the client and the log
  std::string account;  // whose share of the server the work takes: AccountOf (access.h)
};

// Every part is thread-safe and outlives the connections.
struct Services {
  Limits limits;
  // Where a client leaves an option to the server; the rate is the model's.
  Replaceable<ChosenOptions> default_options;
  // How long a client waits for the snapshot store: for its snapshot when it resumes a stream, and
  // for a last snapshot when the server shuts down.
  double resume_patience_s = 5;
  double drain_patience_s = 2;
  std::chrono::system_clock::time_point started_at;  // of the server

  Recognizer* recognizer = nullptr;
  Admission* admission = nullptr;
  Metrics* metrics = nullptr;
  SnapshotStore* snapshot_store = nullptr;  // null: streams cannot be resumed
  TaskThreads* store_threads = nullptr;     // for calls of the store
  // For messages that take long to read or to write.
  TaskThreads* file_threads = nullptr;
  // For uploaded recordings, and messages that a process decodes, which may hang.
  TaskThreads* media_threads = nullptr;
  InputBudget* input_budget = nullptr;  // null: messages of clients are not counted
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_SERVICES_H_
