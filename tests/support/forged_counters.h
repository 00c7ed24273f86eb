// Snapshots with numbers that no stream has.
#ifndef RUNNEL_TESTS_SUPPORT_FORGED_COUNTERS_H_
#define RUNNEL_TESTS_SUPPORT_FORGED_COUNTERS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/snapshot/snapshot_format.h"
#include "runtime/snapshot_error.h"
#include "runtime/stream.h"

namespace runnel::testing {

// Replaces each 8 bytes that may be a counter by huge numbers. Stream::Restore refuses them, or the
// stream can be used (of which the undefined sanitizer has an opinion). Returns how often it was
// refused.
inline int RefusedCounters(const std::shared_ptr<const Model>& model, const Stream& original) {
  const std::string snapshot = original.Snapshot();
  const std::string contents = snapshot.substr(
      kSnapshotHeaderSize, snapshot.size() - kSnapshotHeaderSize - kSnapshotChecksumSize);
  constexpr int64_t kLargestSeen = int64_t{1} << 20;  // of the streams of tests
  int num_refused = 0;
  for (size_t at = 0; at + sizeof(int64_t) <= contents.size(); ++at) {
    int64_t value = 0;
    std::memcpy(&value, contents.data() + at, sizeof(value));
    if (value < 0 || value > kLargestSeen) continue;
    for (const int64_t huge : {int64_t{-1}, int64_t{1} << 49, int64_t{1} << 60,
                               std::numeric_limits<int64_t>::max() - 1}) {
      std::string forged = contents;
      std::memcpy(forged.data() + at, &huge, sizeof(huge));
      try {
        Stream stream = Stream::Restore(model, SealSnapshot(model->fingerprint(), forged));
        if (!stream.finished()) stream.AcceptSamples(std::vector<float>(2000).data(), 2000);
        while (DecodeChunks({&stream}) > 0) {
        }
        stream.Finish();
        while (DecodeChunks({&stream}) > 0) {
        }
        stream.TokensSince(0);
        stream.NBest(2);
        stream.TakeUtterances();
      } catch (const SnapshotError&) {
        ++num_refused;
      }
    }
  }
  return num_refused;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_FORGED_COUNTERS_H_
