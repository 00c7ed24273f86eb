#include "runtime/snapshot/snapshot_format.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/snapshot/sha256.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/snapshot_error.h"

namespace runnel {
namespace {

constexpr std::string_view kMagic = "RNLSTATE";
constexpr size_t kFingerprintSize = 32;

std::string SealOf(std::string_view bytes) {
  return Sha256().Add(bytes.data(), bytes.size()).Bytes();
}

std::string Bytes(uint64_t count) { return std::to_string(count) + " bytes"; }

}  // namespace

std::string SealSnapshot(std::string_view fingerprint, std::string_view contents) {
  if (fingerprint.size() != kFingerprintSize) {
    throw std::logic_error("a fingerprint has " + std::to_string(fingerprint.size()) + " digits");
  }
  StateWriter header;
  header.Bytes(kMagic.data(), kMagic.size());
  header.Value(kSnapshotVersion);
  header.Bytes(fingerprint.data(), fingerprint.size());
  header.Value(static_cast<uint64_t>(contents.size()));
  std::string snapshot = header.Take();
  snapshot += contents;
  return snapshot + SealOf(snapshot);
}

std::string_view OpenSnapshot(std::string_view snapshot, std::string_view fingerprint) {
  const size_t compared = std::min(snapshot.size(), kMagic.size());
  if (compared == 0 || snapshot.substr(0, compared) != kMagic.substr(0, compared)) {
    throw SnapshotError("not a snapshot of a stream");
  }
  if (snapshot.size() < kSnapshotHeaderSize) {
    throw SnapshotError("snapshot is truncated: " + Bytes(snapshot.size()) +
                        ", expected more than " + Bytes(kSnapshotHeaderSize));
  }
  StateReader header(snapshot.substr(kMagic.size(), kSnapshotHeaderSize - kMagic.size()));
  uint32_t version = 0;
  header.Value(version);
  if (version > kSnapshotVersion) {
    throw SnapshotError("snapshot is of format version " + std::to_string(version) +
                        ", which is newer than " + std::to_string(kSnapshotVersion) +
                        ", the newest that this version of Runnel reads");
  }
  if (version == 0) throw SnapshotError("snapshot is corrupt: its format version is 0");
  if (version < kSnapshotVersion) {
    throw SnapshotError("snapshot is of format version " + std::to_string(version) + ", expected " +
                        std::to_string(kSnapshotVersion) + ": an older Runnel made it");
  }
  std::string its_fingerprint(kFingerprintSize, '\0');
  header.Bytes(its_fingerprint.data(), its_fingerprint.size());
  uint64_t size = 0;
  header.Value(size);
  const size_t rest = snapshot.size() - kSnapshotHeaderSize;
  if (rest < kSnapshotChecksumSize || size > rest - kSnapshotChecksumSize) {
    throw SnapshotError("snapshot is truncated: " + Bytes(rest) + " after its header, expected " +
                        Bytes(size) + " and a checksum");
  }
  if (size < rest - kSnapshotChecksumSize) {
    throw SnapshotError("snapshot is corrupt: " + Bytes(rest) + " after its header, expected " +
                        Bytes(size) + " and a checksum");
  }
  const std::string_view sealed = snapshot.substr(0, kSnapshotHeaderSize + size);
  if (SealOf(sealed) != snapshot.substr(sealed.size())) {
    throw SnapshotError("snapshot is corrupt: its checksum is not that of its " +
                        Bytes(sealed.size()));
  }
  if (!Sha256::IsFingerprint(its_fingerprint)) {  // the message quotes it
    throw SnapshotError(
        "snapshot is inconsistent: its model fingerprint is not 32 hexadecimal digits");
  }
  if (its_fingerprint != fingerprint) {
    throw SnapshotError("snapshot is of another model, or of the same one with other options: " +
                        its_fingerprint + ", expected " + std::string(fingerprint));
  }
  return sealed.substr(kSnapshotHeaderSize);
}

}  // namespace runnel
