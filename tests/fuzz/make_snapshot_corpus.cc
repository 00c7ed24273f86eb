// Writes the seeds of fuzz_snapshot: snapshots of streams of the tiny model in all kinds of states,
// and one that Stream::Restore refuses.
//   build/bin/make_snapshot_corpus tests/fuzz/corpus/snapshot
// To be run again when the format of snapshots changes (runtime/snapshot/snapshot_format.h).
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/search/ctc_search.h"
#include "runtime/snapshot/snapshot_format.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

void WriteBytes(const std::string& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error(path + ": cannot write");
}

void Write(const std::string& folder, const std::string& name, const Stream& stream) {
  WriteBytes(folder, name, stream.Snapshot());
}

std::string Saved(const CtcSearch& search) {
  StateWriter writer;
  search.Save(&writer);
  return writer.Take();
}

// Tokens that FinalizeUtterance handed out and that the search is to find again; and the same with
// another token that the search has found before.
void WriteFlushed(const std::string& folder, const std::vector<float>& samples) {
  const StreamOptions options = testing::Options(16, 3);
  Stream stream(testing::Tiny(), options);
  stream.AcceptSamples(samples.data(), 14000);
  stream.FinalizeUtterance();
  const std::string bytes = stream.Snapshot();
  WriteBytes(folder, "flushed", bytes);
  const auto search = MakeCtcSearch(options.search, 7, 0);
  const size_t size = bytes.size() - kSnapshotHeaderSize - kSnapshotChecksumSize;
  const std::string before = bytes.substr(
      kSnapshotHeaderSize, size - Saved(*search).size());  // the search is the last field
  search->StartUtterance(stream.text_begin() - 1);
  search->Advance(std::vector<float>{-9, -1, -9, -9, -9, -9, -9}.data(), 1);
  WriteBytes(folder, "refused_flushed",
             SealSnapshot(testing::Tiny()->fingerprint(), before + Saved(*search)));
}

void WriteAll(const std::string& folder) {
  const std::vector<float> samples = testing::NoiseOfChangingLevel(20000, 1);
  const auto write = [&](const std::string& name, const StreamOptions& options, bool finish,
                         size_t num_samples = 20000) {
    Stream stream(testing::Tiny(), options);
    stream.AcceptSamples(samples.data(), num_samples);
    stream.Decode();
    if (finish) {
      stream.Finish();
      stream.Decode();
    }
    Write(folder, name, stream);
  };
  StreamOptions beam = testing::Options(2, 3, SearchMethod::kPrefixBeam);
  StreamOptions words = beam;
  words.search.word_list =
      std::make_shared<const WordList>("a\nad\nbad\ncab\n", testing::Tiny()->tokens(), "words");
  StreamOptions telephone = testing::Options(4, 2);
  telephone.sample_rate_hz = 8000;
  Write(folder, "new", Stream(testing::Tiny(), testing::Options(4, 2)));
  write("greedy", testing::Options(4, 2), false);
  write("beam", beam, false);
  write("words", words, false);
  write("resampled", telephone, false);
  write("unlimited", testing::Options(4, testing::kUnlimited), false);
  write("whole_utterance", testing::Options(testing::kWhole, 2), false, 2000);
  write("final", words, true);
  write("utterances", testing::WithEndpoints(beam), false);  // some that are not taken
  // Silence is what the blank's probability says: with this threshold, nearly every frame.
  StreamOptions skipping = testing::WithEndpoints(testing::Options(1, 3), 0.01);
  skipping.endpoints.skip_silence = true;
  write("closed_gate", skipping, false);
  StreamOptions hotwords = beam;
  hotwords.search.hotwords = std::make_shared<const Hotwords>(
      "bad cab :2\nad\n", testing::Tiny()->tokens(), Hotwords::kDefaultScore, "hotwords");
  write("hotwords", hotwords, false);
  WriteFlushed(folder, samples);
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: make_snapshot_corpus FOLDER");
    runnel::WriteAll(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "make_snapshot_corpus: " << error.what() << "\n";
    return 1;
  }
}
