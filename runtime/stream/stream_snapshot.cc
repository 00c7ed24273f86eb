// Stream::Snapshot and Stream::Restore.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/model.h"
#include "runtime/snapshot/sha256.h"
#include "runtime/snapshot/snapshot_format.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/snapshot_error.h"
#include "runtime/stream.h"
#include "runtime/stream/stream_state.h"
#include "runtime/word_list.h"

namespace runnel {
namespace {

// The StreamOptions in a snapshot.
struct SavedOptions {
  int64_t chunk_size = 0;
  int64_t left_context = 0;
  int32_t sample_rate_hz = 0;
  int32_t method = 0;
  int32_t beam_size = 0;
  int32_t token_beam = 0;
  std::string word_list;  // its fingerprint; "": none
  int32_t nbest = 1;
  EndpointOptions endpoints;
  EarlyTextOptions early_text;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.chunk_size);
    fields.Value(self.left_context);
    fields.Value(self.sample_rate_hz);
    fields.Value(self.method);
    fields.Value(self.beam_size);
    fields.Value(self.token_beam);
    fields.Text(self.word_list);
    fields.Value(self.nbest);
    fields.Value(self.endpoints.enabled);
    for (auto& rule : self.endpoints.rules) {
      fields.Value(rule.needs_speech);
      fields.Value(rule.min_silence_s);
      fields.Value(rule.min_utterance_s);
    }
    fields.Value(self.endpoints.silence_blank_probability);
    fields.Value(self.endpoints.reset_encoder);
    fields.Value(self.endpoints.skip_silence);
    fields.Value(self.early_text.interval);
    fields.Value(self.early_text.padding);
  }
};

std::string FingerprintOf(const WordList* word_list) {
  return word_list == nullptr ? "" : word_list->fingerprint();
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
                           FingerprintOf(options.search.word_list.get()),
                           options.nbest,
                           options.endpoints,
                           options.early_text};
  StateWriter writer;
  SavedOptions::VisitState(saved, writer);
  const State& state = *state_;
  State::VisitState(state, writer);
  return SealSnapshot(state.model->fingerprint(), writer.Take());
}

Stream Stream::Restore(std::shared_ptr<const Model> model, const std::string& snapshot,
                       const RestoreOptions& given) {
  if (model == nullptr) throw std::invalid_argument("Stream::Restore was given no model");
  StateReader reader(OpenSnapshot(snapshot, model->fingerprint()));
  SavedOptions saved;
  SavedOptions::VisitState(saved, reader);
  reader.Require(saved.word_list.empty() || Sha256::IsFingerprint(saved.word_list),
                 "its word list fingerprint is not 32 hexadecimal digits");
  if (saved.word_list != FingerprintOf(given.word_list.get())) {
    throw SnapshotError("snapshot is of another word list: " + NameOf(saved.word_list) +
                        ", expected " + NameOf(FingerprintOf(given.word_list.get())));
  }
  StreamOptions options;
  options.chunk_size = saved.chunk_size;
  options.left_context = saved.left_context;
  options.sample_rate_hz = saved.sample_rate_hz;
  options.search.method = static_cast<SearchMethod>(saved.method);
  options.search.beam_size = saved.beam_size;
  options.search.token_beam = saved.token_beam;
  options.search.word_list = given.word_list;
  options.nbest = given.nbest == 0 ? saved.nbest : given.nbest;
  options.endpoints = saved.endpoints;
  options.early_text = saved.early_text;
  try {
    Stream stream(std::move(model), options);
    State::VisitState(*stream.state_, reader);
    reader.Require(reader.at_end(), "its contents go on after the last field");
    return stream;
  } catch (
      const std::invalid_argument& error) {  // by the snapshot's options; not the caller's fault
    throw SnapshotError(std::string("snapshot is inconsistent: ") + error.what());
  }
}

}  // namespace runnel
