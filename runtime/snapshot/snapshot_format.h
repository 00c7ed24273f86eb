// The format of a snapshot: an envelope that tells format version, model and size, with a checksum.
//
// This folder holds the format and the classes that write and read fields (state_fields.h). The
// fields themselves are listed in the VisitState functions of Stream::State and its members.
//
//   offset  bytes
//        0      8  "RNLSTATE"
//        8      4  format version, kSnapshotVersion
//       12     32  Model::fingerprint(), lower-case hexadecimal digits
//       44      8  n, size of the contents
//       52      n  contents: the fields in the order of the VisitState functions
//     52+n     32  SHA-256 of all bytes before
//
// Numbers are little-endian and as wide as their C++ type (int32_t, int64_t, float, double). A bool
// is one byte, 0 or 1. Lists and texts follow their length, 8 bytes. Values that can be computed
// from others are not stored. A release whose contents differ from those of the last one has a new
// version, one number higher, however many changes there were between.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_SNAPSHOT_FORMAT_H_
#define RUNNEL_RUNTIME_SNAPSHOT_SNAPSHOT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runnel {

constexpr uint32_t kSnapshotVersion = 8;
constexpr size_t kSnapshotHeaderSize = 52;
constexpr size_t kSnapshotChecksumSize = 32;

// `fingerprint`: 32 characters.
std::string SealSnapshot(std::string_view fingerprint, std::string_view contents);

// The contents, a part of `snapshot`. Throws SnapshotError when the bytes are not a snapshot,
// truncated, corrupt, of a newer version, or of a model with another fingerprint.
std::string_view OpenSnapshot(std::string_view snapshot, std::string_view fingerprint);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_SNAPSHOT_FORMAT_H_
