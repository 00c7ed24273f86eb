// The envelope of a snapshot: what says that these bytes are one, whole, and of which model.
// Flow: packets -> frontend -> encoder -> runtime (this, below stream) -> tools.
//
//   offset  bytes
//        0      8  "RNLSTATE"
//        8      4  format version, kSnapshotVersion
//       12     32  Model::fingerprint(), lower-case hexadecimal digits
//       44      8  n, size of the contents
//       52      n  contents: the fields of Stream::State in the order of their VisitState functions
//     52+n     32  SHA-256 of all that stands before
//
// Numbers are little-endian, of the width of their C++ type (int32_t, int64_t, float, double);
// a bool is one byte, 0 or 1; lists and texts follow their length, 8 bytes. What other fields say
// is not written but computed again. Any change of the contents is a new version.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_FORMAT_H_
#define RUNNEL_RUNTIME_SNAPSHOT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runnel {

constexpr uint32_t kSnapshotVersion = 1;
constexpr size_t kSnapshotHeaderSize = 52;
constexpr size_t kSnapshotChecksumSize = 32;

// `fingerprint`: 32 characters.
std::string SealSnapshot(std::string_view fingerprint, std::string_view contents);

// The contents, a part of `snapshot`. Throws SnapshotError when it is not a snapshot, truncated,
// corrupt, of a newer version, or of another model than that of `fingerprint`.
std::string_view OpenSnapshot(std::string_view snapshot, std::string_view fingerprint);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_FORMAT_H_
