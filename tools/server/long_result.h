// Final results so long that writing them would keep others waiting.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below live_session).
#ifndef RUNNEL_TOOLS_SERVER_LONG_RESULT_H_
#define RUNNEL_TOOLS_SERVER_LONG_RESULT_H_

#include <memory>

#include "runtime/live_update.h"
#include "tools/server/protocol.h"
#include "tools/server/session_mailbox.h"
#include "tools/server/task_threads.h"

namespace runnel::server {

// Whether the update is a final one whose messages take more than some milliseconds to write.
bool IsLongResult(const LiveUpdate& update);

// On a thread of `threads`, Protocol::OnUpdate: its messages come into the mailbox, none when they
// could not be made. Until then the protocol belongs to the task.
void MakeFinalTexts(TaskThreads* threads, std::shared_ptr<Protocol> protocol, LiveUpdate update,
                    std::shared_ptr<SessionMailbox> mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_LONG_RESULT_H_
