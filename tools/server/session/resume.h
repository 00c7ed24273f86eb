// Resumes a stream from its snapshot in the snapshot store.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_RESUME_H_
#define RUNNEL_TOOLS_SERVER_SESSION_RESUME_H_

#include <memory>

#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/services.h"
#include "tools/server/session/session_mailbox.h"
#include "tools/server/session/session_snapshots.h"

namespace runnel::server {

// On a store thread, in a turn of `account`, fetches the snapshot that `request` names and restores
// its stream. The stream, or the reason for a failure, is put into the mailbox; later updates of
// the stream too. New snapshots of the stream are taken by `snapshots`. `services` outlive the
// task.
void ResumeStream(const Services& services, const std::string& account,
                  const ResumeRequest& request, const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_RESUME_H_
