// Decodes an uploaded recording, for every interface that takes one.
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_RECOGNIZE_JOB_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_RECOGNIZE_JOB_H_

#include <functional>
#include <memory>
#include <string>

#include "runtime/live_update.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/recordings/recording.h"
#include "tools/server/resources/services.h"

namespace runnel::server {

// Feeds the samples to a live stream on the services' media threads, as fast as the stream accepts
// them. A job waits for media_decoder only, so any number of jobs share the threads.
class RecognizeJob {
 public:
  virtual ~RecognizeJob() = default;
  // Ends the job without a result. From any thread.
  virtual void Cancel() = 0;
};

// Where a job hands over what it finds. The functions are called one at a time, and none after
// on_result or on_error, of which one is called, unless the job is cancelled. When another function
// throws, on_error is called with kInternal.
struct RecordingReceiver {
  // The recording can be read. May be empty. On a media thread, before the other two.
  std::function<void(const RecordingStart&)> on_start;
  // What the stream found next, the final update included. On a worker thread, which must not wait.
  std::function<void(const LiveUpdate&)> on_update;
  // On a file thread, which may spend its time on writing a long reply.
  std::function<void(const RecordingResult&)> on_result;
  // On any thread, possibly before StartRecognizeJob returns.
  std::function<void(const ProtocolError&)> on_error;
};

// `protocol` names the interface in metrics, e.g. "http". `account`: whose work it is. `services`
// must outlive the job.
std::shared_ptr<RecognizeJob> StartRecognizeJob(const Services& services, const char* protocol,
                                                const std::string& account, Recording recording,
                                                RecordingReceiver receiver);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_RECOGNIZE_JOB_H_
