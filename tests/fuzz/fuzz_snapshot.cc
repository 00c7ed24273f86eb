// Fuzzes Stream::Restore with the tiny model: no bytes may do more than throw SnapshotError, and a
// stream that comes out can be used like any other.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/snapshot/snapshot_format.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"

namespace runnel {
namespace {

const std::shared_ptr<const Model>& TinyModel() {
  static const auto model = Model::Load(RUNNEL_SOURCE_DIR "/tests/golden/encoder/tiny.pt");
  return model;
}

// That of the corpus (make_snapshot_corpus.cc).
const std::shared_ptr<const WordList>& TinyWordList() {
  static const auto word_list =
      std::make_shared<const WordList>("a\nad\nbad\ncab\n", TinyModel()->tokens(), "words");
  return word_list;
}

void Use(Stream stream) {
  const std::vector<float> silence(2000);
  if (!stream.finished()) stream.AcceptSamples(silence.data(), silence.size());
  while (DecodeChunks({&stream}) > 0) {
  }
  stream.Finish();
  while (DecodeChunks({&stream}) > 0) {
  }
  stream.NBest(10);
  stream.TextSince(stream.StableTextSize());
  stream.TokensSince(stream.NumStableTokens());
  stream.MinSamplesToChunk();
  stream.TakeUtterances();
  stream.Snapshot();
}

void RestoreAndUse(const std::string& snapshot, const std::shared_ptr<const WordList>& word_list) {
  try {
    Use(Stream::Restore(TinyModel(), snapshot, {word_list, nullptr}));
  } catch (const SnapshotError&) {
  }
}

}  // namespace
}  // namespace runnel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace runnel;  // NOLINT: this function only
  const std::string bytes(data, data + size);
  RestoreAndUse(bytes, nullptr);
  // Past header and checksum, which would stop all but the corpus.
  constexpr size_t kEnvelope = kSnapshotHeaderSize + kSnapshotChecksumSize;
  if (size < kEnvelope) return 0;
  const std::string sealed =
      SealSnapshot(TinyModel()->fingerprint(), bytes.substr(kSnapshotHeaderSize, size - kEnvelope));
  RestoreAndUse(sealed, nullptr);
  RestoreAndUse(sealed, TinyWordList());
  return 0;
}
