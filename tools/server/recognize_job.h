// A recording that was uploaded, decoded to its end: POST /v1/recognize.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below http_session).
#ifndef RUNNEL_TOOLS_SERVER_RECOGNIZE_JOB_H_
#define RUNNEL_TOOLS_SERVER_RECOGNIZE_JOB_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tools/server/http_reply.h"
#include "tools/server/services.h"

namespace runnel::server {

// Fed as the stream takes it, on the services' file threads, none of which ever waits: any number
// of jobs share them.
class RecognizeJob {
 public:
  virtual ~RecognizeJob() = default;
  // Nobody wants the result any more. From any thread.
  virtual void Cancel() = 0;
};

// `target`: options in its query, named as in the "start" message of our own protocol. `body`: the
// file. `done` is called once, from another thread, unless the job is cancelled.
std::shared_ptr<RecognizeJob> StartRecognizeJob(const Services& services, std::string_view target,
                                                std::string body,
                                                std::function<void(HttpReply)> done);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECOGNIZE_JOB_H_
