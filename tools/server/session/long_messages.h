// Writes the messages of long results on a background thread.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_LONG_MESSAGES_H_
#define RUNNEL_TOOLS_SERVER_SESSION_LONG_MESSAGES_H_

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

// Calls `write` on a thread of `threads` and puts the messages into the mailbox, or why there are
// none when it throws. Until then nobody else may use the protocol that `write` uses.
void WriteLongMessages(TaskThreads* threads, std::function<std::vector<std::string>()> write,
                       std::shared_ptr<SessionMailbox> mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_LONG_MESSAGES_H_
