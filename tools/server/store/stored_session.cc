#include "tools/server/store/stored_session.h"

#include <string_view>

#include "runtime/snapshot/sha256.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/snapshot_error.h"

namespace runnel::server {
namespace {

constexpr std::string_view kMagic = "runnel-session 4\n";

// Of everything but the stream.
std::string Checksum(const StoredSession& session) {
  return Sha256().AddNumber(session.first_utterance).AddText(session.utterances).Bytes();
}

}  // namespace

// Magic, first utterance, utterances, checksum, stream.
std::string Pack(const StoredSession& session) {
  StateWriter writer;
  writer.Bytes(kMagic.data(), kMagic.size());
  writer.Value(session.first_utterance);
  writer.Text(session.utterances);
  const std::string checksum = Checksum(session);
  writer.Bytes(checksum.data(), checksum.size());
  writer.Bytes(session.stream.data(), session.stream.size());
  return writer.Take();
}

StoredSession UnpackSession(const std::string& bytes) {
  if (bytes.compare(0, kMagic.size(), kMagic) != 0) {
    throw SnapshotError("snapshot is no session of this version");
  }
  StateReader reader(std::string_view(bytes).substr(kMagic.size()));
  StoredSession session;
  reader.Value(session.first_utterance);
  reader.Text(session.utterances);
  std::string checksum(Sha256::kSize, '\0');
  reader.Bytes(checksum.data(), checksum.size());
  if (checksum != Checksum(session))
    throw SnapshotError("snapshot is damaged: its checksum differs");
  session.stream = bytes.substr(bytes.size() - reader.num_bytes());
  return session;
}

}  // namespace runnel::server
