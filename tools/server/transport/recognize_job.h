// Decodes an uploaded recording (POST /v1/recognize).
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_RECOGNIZE_JOB_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_RECOGNIZE_JOB_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tools/server/resources/services.h"
#include "tools/server/transport/http_reply.h"

namespace runnel::server {

// Feeds the samples to a live stream on the services' file threads, as fast as the stream accepts
// them. A job never blocks a thread, so any number of jobs share the threads.
class RecognizeJob {
 public:
  virtual ~RecognizeJob() = default;
  // Ends the job without a reply. From any thread.
  virtual void Cancel() = 0;
};

// `target` has the options in its query (ReadStartQuery). `body` is an audio file. `services`
// must outlive the job. `done` is called once, from any thread and possibly before this function
// returns, unless the job is cancelled.
std::shared_ptr<RecognizeJob> StartRecognizeJob(const Services& services, std::string_view target,
                                                std::string body,
                                                std::function<void(HttpReply)> done);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_RECOGNIZE_JOB_H_
