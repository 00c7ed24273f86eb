// Keeps a session's stream in the snapshot store while it runs, and brings it back from there.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below live_session).
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SNAPSHOTS_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SNAPSHOTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/live_stream.h"
#include "tools/server/services.h"
#include "tools/server/session_mailbox.h"

namespace runnel::server {

// Thread-safe. All snapshots of a session have one token, a new one per connection: whoever resumes
// cannot be overwritten by a connection that is not known to be dead yet.
class SessionSnapshots : public std::enable_shared_from_this<SessionSnapshots> {
 public:
  // Only with services.snapshot_store. Results come into the mailbox.
  SessionSnapshots(const Services& services, std::shared_ptr<SessionMailbox> mailbox);

  // Results in the final message, to be kept for whoever resumes. Before the stream is there.
  void set_nbest(int nbest) { nbest_ = nbest; }

  // The snapshot that the stream goes on from. It is removed when the stream ends, or the client
  // was sent two newer ones: one may be on its way still when the connection is lost.
  void SetResumedToken(const std::string& token);

  // In the stream's update callback: takes a snapshot when the interval since the last one is over
  // and the last one is stored.
  void OnUpdate(LiveStream* stream, const LiveUpdate& update);

  // The client was sent what SessionMailbox::PutSnapshot was given. On the session's thread.
  void OnSent();

  // A last snapshot of what was received, then SessionMailbox::PutDrained, however it went; when
  // the store has answered.
  void Drain(const std::shared_ptr<LiveStream>& stream);

  // The stream ended as its client wanted: nobody resumes it. What is stored is removed, and what
  // waits to be stored, is not.
  void Forget();

 private:
  // `num_samples`: that are in `bytes` for sure.
  void Store(std::string bytes, int64_t num_samples);
  void Put(const std::string& bytes, int64_t num_samples);
  std::string resumed_token() const;

  const Services& services_;
  const std::string token_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  mutable std::mutex mutex_;   // of resumed_token_
  std::string resumed_token_;  // "" where the stream began here
  std::mutex put_mutex_;       // held while the store is asked, so that it ends with the newest
  int64_t num_stored_ = -1;    // samples of the newest snapshot that the store was given
  std::atomic<int> nbest_{1};
  double next_ms_ = 0;    // of audio; only in the update callback
  int num_sent_ = 0;      // only in OnSent
  size_t last_size_ = 1;  // in bytes; only in the update callback
  std::atomic<bool> is_storing_{false};
  std::atomic<bool> has_stored_{false};  // or is about to
  std::atomic<bool> is_forgotten_{false};
};

// Fetches the snapshot that `request` names and continues it, on a store thread: the stream, or why
// there is none, comes into the mailbox. Updates and new snapshots of the stream are `snapshots`'.
void ResumeStream(const Services& services, const ResumeRequest& request,
                  const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox);

// The callback of a session's stream. `snapshots` may be null.
UpdateCallback MakeUpdateCallback(const std::shared_ptr<SessionSnapshots>& snapshots,
                                  const std::shared_ptr<SessionMailbox>& mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SNAPSHOTS_H_
