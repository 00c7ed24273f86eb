// Work of a session that takes longer than a network thread can spare.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/live_update.h"
#include "tools/server/resources/task_threads.h"
#include "tools/server/session/session_mailbox.h"

namespace runnel::server {

// Whether their messages take more than some milliseconds to write, which would delay the other
// clients of an event loop.
bool AreLong(const std::vector<Utterance>& utterances);
bool IsLong(const LiveUpdate& update);

// Calls `work` on a thread of `threads`, in a turn of `account`, and puts into the mailbox what it
// returns, or why it throws. The session calls what it finds there. Until then nobody else may use
// the protocol that `work` uses. `work` is not called when the session has ended.
void RunSessionTask(TaskThreads* threads, const std::string& account,
                    std::function<std::function<void()>()> work,
                    std::shared_ptr<SessionMailbox> mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_
