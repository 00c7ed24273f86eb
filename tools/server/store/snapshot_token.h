// Tokens that name stored snapshots.
#ifndef RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_TOKEN_H_
#define RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_TOKEN_H_

#include <string>

namespace runnel::server {

// 128 bits of the operating system's randomness as 32 lower-case hexadecimal digits. A token is a
// secret: a client that knows it may take over the stream. Throws std::system_error when the
// system provides no randomness.
std::string NewSnapshotToken();

// True when `token` has the form of NewSnapshotToken's result. `token` may be any bytes.
bool IsSnapshotToken(const std::string& token);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_TOKEN_H_
