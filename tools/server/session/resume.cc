#include "tools/server/session/resume.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/text/first_line.h"
#include "tools/server/store/stored_session.h"
#include "tools/server/store/utterance_history.h"

namespace runnel::server {
namespace {

SessionMailbox::Resumed Refused(ErrorCode code, const std::string& message) {
  return {nullptr, {code, message}, {}, 0};
}

// An utterance has at least one encoder frame. After the snapshot, the earlier connection may have
// brought as many as the rest of its audio has frames.
int64_t MostUtterances(const Services& services, const StoredSession& session) {
  constexpr double kDayS = 86400;
  const double max_audio_s = services.limits.max_audio_s;
  const double audio_s = max_audio_s > 0 ? max_audio_s : kDayS;
  const double frame_ms = services.recognizer->model()->encoder_frame_ms();
  return session.first_utterance + static_cast<int64_t>(audio_s * 1000 / frame_ms) + 1;
}

std::vector<Utterance> Since(int64_t index, std::vector<Utterance> utterances) {
  const auto is_before = [index](const Utterance& utterance) { return utterance.index < index; };
  utterances.erase(std::remove_if(utterances.begin(), utterances.end(), is_before),
                   utterances.end());
  return utterances;
}

SessionMailbox::Resumed Restore(const Services& services, const std::string& account,
                                const ResumeRequest& request,
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
  try {
    const StoredSession session = UnpackSession(*stored);
    SessionMailbox::Resumed resumed;
    resumed.utterances =
        UtteranceHistory::Unpack(session.utterances, services.recognizer->model()->tokens());
    // A client that counts none has all that it wants.
    const int64_t num_utterances = request.num_utterances.value_or(session.first_utterance);
    if (const int64_t most = MostUtterances(services, session); num_utterances > most) {
      return Refused(ErrorCode::kBadOption,
                     "resume: utterances is " + std::to_string(num_utterances) +
                         ", expected at most " + std::to_string(most) +
                         ", the largest number that the stream can have had");
    }
    UtteranceHistory history(session.first_utterance);
    for (const Utterance& utterance : resumed.utterances) history.Add(utterance);
    history.ForgetBefore(num_utterances);
    resumed.utterances = Since(num_utterances, std::move(resumed.utterances));
    resumed.first_utterance = resumed.utterances.empty()
                                  ? std::max(num_utterances, session.first_utterance)
                                  : resumed.utterances.front().index;
    snapshots->SetResumed(request.token, std::move(history));
    RestoreOptions options;
    options.nbest = request.nbest;
    options.shared = services.default_options.values.stream.search;
    resumed.stream = services.recognizer->Restore(
        session.stream, MakeUpdateCallback(services.metrics, snapshots, mailbox), options, account);
    return resumed;
  } catch (const std::exception& error) {
    return Refused(ErrorCode::kSnapshotInvalid, FirstLine(error.what()));
  }
}

}  // namespace

void ResumeStream(const Services& services, const std::string& account,
                  const ResumeRequest& request, const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox) {
  const auto task = [&services, account, request, snapshots, mailbox] {
    if (mailbox->is_closed()) return;  // the client has gone
    mailbox->PutResumed(Restore(services, account, request, snapshots, mailbox));
  };
  if (!services.store_threads->RunFirst(task, account)) {
    mailbox->PutResumed(Refused(ErrorCode::kFull, "too many streams wait for their snapshots"));
  }
}

}  // namespace runnel::server
