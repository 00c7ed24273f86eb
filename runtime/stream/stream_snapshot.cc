// Snapshots of streams: Stream::Snapshot and Stream::Restore.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/lexicon.h"
#include "runtime/model.h"
#include "runtime/sha256.h"
#include "runtime/snapshot_error.h"
#include "runtime/snapshot_format.h"
#include "runtime/state_fields.h"
#include "runtime/stream.h"
#include "runtime/stream_state.h"

namespace runnel {
namespace {

// What a snapshot says of StreamOptions.
struct SavedOptions {
  int64_t chunk_size = 0;
  int64_t left_context = 0;
  int32_t sample_rate_hz = 0;
  int32_t method = 0;
  int32_t beam_size = 0;
  int32_t token_beam = 0;
  std::string lexicon;  // its fingerprint; empty: none

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.chunk_size);
    fields.Value(self.left_context);
    fields.Value(self.sample_rate_hz);
    fields.Value(self.method);
    fields.Value(self.beam_size);
    fields.Value(self.token_beam);
    fields.Text(self.lexicon);
  }
};

std::string FingerprintOf(const Lexicon* lexicon) {
  return lexicon == nullptr ? "" : lexicon->fingerprint();
}

std::string NameOf(const std::string& fingerprint) {
  return fingerprint.empty() ? "none" : fingerprint;
}

}  // namespace

std::string Stream::Snapshot() const {
  const StreamOptions& options = state_->options;
  const SavedOptions saved{options.chunk_size,
                           options.left_context,
                           options.sample_rate_hz,
                           static_cast<int32_t>(options.search.method),
                           options.search.beam_size,
                           options.search.token_beam,
                           FingerprintOf(options.search.lexicon.get())};
  StateWriter writer;
  SavedOptions::VisitState(saved, writer);
  const State& state = *state_;
  State::VisitState(state, writer);
  return SealSnapshot(state.model->fingerprint(), writer.Take());
}

Stream Stream::Restore(std::shared_ptr<const Model> model, const std::string& snapshot,
                       std::shared_ptr<const Lexicon> lexicon) {
  if (model == nullptr) throw std::invalid_argument("Stream::Restore was given no model");
  StateReader reader(OpenSnapshot(snapshot, model->fingerprint()));
  SavedOptions saved;
  SavedOptions::VisitState(saved, reader);
  reader.Require(saved.lexicon.empty() || Sha256::IsFingerprint(saved.lexicon),
                 "no fingerprint of a word list");
  if (saved.lexicon != FingerprintOf(lexicon.get())) {
    throw SnapshotError("snapshot is of another word list: " + NameOf(saved.lexicon) +
                        ", expected " + NameOf(FingerprintOf(lexicon.get())));
  }
  StreamOptions options;
  options.chunk_size = saved.chunk_size;
  options.left_context = saved.left_context;
  options.sample_rate_hz = saved.sample_rate_hz;
  options.search.method = static_cast<SearchMethod>(saved.method);
  options.search.beam_size = saved.beam_size;
  options.search.token_beam = saved.token_beam;
  options.search.lexicon = std::move(lexicon);
  try {
    Stream stream(std::move(model), options);
    State::VisitState(*stream.state_, reader);
    reader.Require(reader.at_end(), "bytes after its end");
    return stream;
  } catch (const std::invalid_argument& error) {  // of the options; not the caller's fault
    throw SnapshotError(std::string("snapshot is inconsistent: ") + error.what());
  }
}

}  // namespace runnel
