// The bytes of a session in the snapshot store: the snapshot of its stream, and the utterances that
// its client may not have received.
#ifndef RUNNEL_TOOLS_SERVER_STORE_STORED_SESSION_H_
#define RUNNEL_TOOLS_SERVER_STORE_STORED_SESSION_H_

#include <cstdint>
#include <string>

namespace runnel::server {

struct StoredSession {
  // Index of the first utterance that the restored stream brings.
  int64_t first_utterance = 0;
  std::string utterances;  // UtteranceHistory::Pack of those before it
  std::string stream;      // LiveStream::Snapshot
};

std::string Pack(const StoredSession& session);

// Throws SnapshotError when `bytes` are not those of Pack, or of another version. The stream, which
// has a checksum of its own, is not checked.
StoredSession UnpackSession(const std::string& bytes);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_STORED_SESSION_H_
