#include "tools/server/session/resume.h"

#include <exception>
#include <optional>
#include <string>

#include "runtime/text/first_line.h"

namespace runnel::server {
namespace {

SessionMailbox::Resumed Refused(ErrorCode code, const std::string& message) {
  return {nullptr, {code, message}};
}

SessionMailbox::Resumed Restore(const Services& services, const ResumeRequest& request,
                                const std::shared_ptr<SessionSnapshots>& snapshots,
                                const std::shared_ptr<SessionMailbox>& mailbox) {
  std::optional<std::string> stored;
  try {
    stored = services.snapshot_store->Get(request.token);
  } catch (const std::exception& error) {
    LogStoreError(error);
    return Refused(ErrorCode::kStoreUnavailable, "the store of snapshots cannot be reached");
  }
  if (!stored.has_value()) {
    return Refused(ErrorCode::kSnapshotUnknown, "no snapshot of this token, or it has expired");
  }
  snapshots->SetResumedToken(request.token);
  try {
    RestoreOptions options;
    options.nbest = request.nbest;
    return {services.recognizer->Restore(*stored, MakeUpdateCallback(snapshots, mailbox), options),
            {}};
  } catch (const std::exception& error) {
    return Refused(ErrorCode::kSnapshotInvalid, FirstLine(error.what()));
  }
}

}  // namespace

void ResumeStream(const Services& services, const ResumeRequest& request,
                  const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox) {
  const bool is_taken = services.store_threads->RunFirst([&services, request, snapshots, mailbox] {
    if (mailbox->is_closed()) return;  // the client has gone
    mailbox->PutResumed(Restore(services, request, snapshots, mailbox));
  });
  if (!is_taken) {
    mailbox->PutResumed(Refused(ErrorCode::kFull, "too many streams wait for their snapshots"));
  }
}

}  // namespace runnel::server
