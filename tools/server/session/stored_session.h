// The bytes of a session in the snapshot store: a header, and the snapshot of its stream.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_STORED_SESSION_H_
#define RUNNEL_TOOLS_SERVER_SESSION_STORED_SESSION_H_

#include <optional>
#include <string>

namespace runnel::server {

struct StoredSession {
  int nbest = 1;       // results in the final message, at least 1
  std::string stream;  // LiveStream::Snapshot
};

// "runnel-session 1 <nbest>\n<stream>".
std::string Pack(const StoredSession& session);

// Empty when `bytes` do not begin with such a header. The stream is not checked.
std::optional<StoredSession> Unpack(const std::string& bytes);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_STORED_SESSION_H_
