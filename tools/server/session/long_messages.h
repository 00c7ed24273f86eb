// Writes the messages of long final results on a background thread.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_FINAL_MESSAGES_H_
#define RUNNEL_TOOLS_SERVER_SESSION_FINAL_MESSAGES_H_

#include <memory>

#include "runtime/live_update.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/task_threads.h"
#include "tools/server/session/session_mailbox.h"

namespace runnel::server {

// Whether `update` is final and its messages take more than some milliseconds to write, which would
// delay the other clients of an event loop.
bool IsLongResult(const LiveUpdate& update);

// Calls Protocol::OnUpdate on a thread of `threads` and puts the messages into the mailbox, or no
// message when that throws. Until then nobody else may use the protocol.
void WriteFinalMessages(TaskThreads* threads, std::shared_ptr<Protocol> protocol, LiveUpdate update,
                        std::shared_ptr<SessionMailbox> mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_FINAL_MESSAGES_H_
