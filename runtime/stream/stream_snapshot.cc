// Stream::Snapshot and Stream::Restore.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/model.h"
#include "runtime/scoring/language_model_scorer.h"
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
  int32_t head = 0;
  int32_t beam_size = 0;
  int32_t token_beam = 0;
  int32_t max_symbols = 0;
  double ctc_weight = 0;
  bool is_rescored = false;
  double first_pass_weight = 0;
  double reverse_weight = 0;
  std::string language;
  std::string word_list;  // its fingerprint; "": none
  int32_t nbest = 1;
  EndpointOptions endpoints;
  EarlyTextOptions early_text;
  std::string hotwords;        // Hotwords::text(); "": none
  std::string language_model;  // its fingerprint; "": none
  int32_t language_model_level = 0;
  double language_model_weight = 0;
  double language_model_bonus = 0;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.chunk_size);
    fields.Value(self.left_context);
    fields.Value(self.sample_rate_hz);
    fields.Value(self.method);
    fields.Value(self.head);
    fields.Value(self.beam_size);
    fields.Value(self.token_beam);
    fields.Value(self.max_symbols);
    fields.Value(self.ctc_weight);
    fields.Value(self.is_rescored);
    fields.Value(self.first_pass_weight);
    fields.Value(self.reverse_weight);
    fields.Text(self.language);
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
    fields.Text(self.hotwords);
    fields.Text(self.language_model);
    fields.Value(self.language_model_level);
    fields.Value(self.language_model_weight);
    fields.Value(self.language_model_bonus);
  }
};

template <class Named>
std::string FingerprintOf(const std::shared_ptr<const Named>& named) {
  return named == nullptr ? "" : named->fingerprint();
}

std::string NameOf(const std::string& fingerprint) {
  return fingerprint.empty() ? "none" : fingerprint;
}

// `saved`, `given`: fingerprints, or "" for none.
void CheckFingerprint(const std::string& what, const std::string& saved, const std::string& given) {
  StateReader::Check(saved.empty() || Sha256::IsFingerprint(saved)
                         ? ""
                         : "its " + what + " fingerprint is not 32 hexadecimal digits");
  if (saved == given) return;
  throw SnapshotError("snapshot is of another " + what + ": " + NameOf(saved) + ", expected " +
                      NameOf(given));
}

// The language model for a snapshot; null if none is given, or the stream had none and it is only
// shared.
std::shared_ptr<const LanguageModel> GivenLanguageModel(const SavedOptions& saved,
                                                        const RestoreOptions& given) {
  const auto& shared = given.shared.language_model;
  const bool is_shared = given.language_model == nullptr && shared != nullptr;
  return is_shared && !saved.language_model.empty() ? shared->options().model
                                                    : given.language_model;
}

std::shared_ptr<const Hotwords> RestoreHotwords(const std::string& list, const Model& model,
                                                const std::shared_ptr<const Hotwords>& shared) {
  if (list.empty()) return nullptr;
  if (shared != nullptr && shared->text() == list) return shared;
  return std::make_shared<const Hotwords>(list, model.tokens(), Hotwords::kDefaultScore,
                                          "its hotwords");
}

std::shared_ptr<const LanguageModelScorer> RestoreLanguageModel(
    const LanguageModelOptions& options, const Model& model,
    const std::shared_ptr<const LanguageModelScorer>& shared) {
  if (options.model == nullptr) return nullptr;
  if (shared != nullptr) {
    const LanguageModelOptions& others = shared->options();
    if (others.model->fingerprint() == options.model->fingerprint() &&
        others.level == options.level && others.weight == options.weight &&
        others.bonus == options.bonus) {
      return shared;
    }
  }
  return PrepareLanguageModel(options, model.tokens());
}

}  // namespace

std::string Stream::Snapshot() const {
  if (state_->is_preview) throw std::invalid_argument("Snapshot of a preview");
  const StreamOptions& options = state_->options;
  SavedOptions saved;
  saved.chunk_size = options.chunk_size;
  saved.left_context = options.left_context;
  saved.sample_rate_hz = options.sample_rate_hz;
  saved.method = static_cast<int32_t>(options.search.method);
  saved.head = static_cast<int32_t>(options.search.head);
  saved.beam_size = options.search.beam_size;
  saved.token_beam = options.search.token_beam;
  saved.max_symbols = options.search.max_symbols;
  saved.ctc_weight = options.search.ctc_weight;
  saved.is_rescored = options.search.rescoring.enabled;
  saved.first_pass_weight = options.search.rescoring.first_pass_weight;
  saved.reverse_weight = options.search.rescoring.reverse_weight;
  saved.language = options.language;
  saved.word_list = FingerprintOf(options.search.word_list);
  saved.nbest = options.nbest;
  saved.endpoints = options.endpoints;
  saved.early_text = options.early_text;
  if (options.search.hotwords != nullptr) saved.hotwords = options.search.hotwords->text();
  if (options.search.language_model != nullptr) {
    const LanguageModelOptions& given = options.search.language_model->options();
    saved.language_model = FingerprintOf(given.model);
    saved.language_model_level = static_cast<int32_t>(given.level);
    saved.language_model_weight = given.weight;
    saved.language_model_bonus = given.bonus;
  }
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
  CheckFingerprint("word list", saved.word_list, FingerprintOf(given.word_list));
  LanguageModelOptions language_model;
  language_model.model = GivenLanguageModel(saved, given);
  language_model.level = static_cast<LanguageModelLevel>(saved.language_model_level);
  language_model.weight = saved.language_model_weight;
  language_model.bonus = saved.language_model_bonus;
  CheckFingerprint("language model", saved.language_model, FingerprintOf(language_model.model));
  StreamOptions options;
  options.chunk_size = saved.chunk_size;
  options.left_context = saved.left_context;
  options.sample_rate_hz = saved.sample_rate_hz;
  options.search.method = static_cast<SearchMethod>(saved.method);
  options.search.head = static_cast<Head>(saved.head);
  options.search.beam_size = saved.beam_size;
  options.search.token_beam = saved.token_beam;
  options.search.max_symbols = saved.max_symbols;
  options.search.ctc_weight = saved.ctc_weight;
  options.search.rescoring = {saved.is_rescored, saved.first_pass_weight, saved.reverse_weight};
  options.language = saved.language;
  options.search.word_list = given.word_list;
  options.nbest = given.nbest == 0 ? saved.nbest : given.nbest;
  options.endpoints = saved.endpoints;
  options.early_text = saved.early_text;
  try {  // fields that no stream has throw std::runtime_error or std::invalid_argument
    options.search.hotwords = RestoreHotwords(saved.hotwords, *model, given.shared.hotwords);
    options.search.language_model =
        RestoreLanguageModel(language_model, *model, given.shared.language_model);
    Stream stream(std::move(model), options);
    State::VisitState(*stream.state_, reader);
    reader.Require(reader.at_end(), "its contents go on after the last field");
    return stream;
  } catch (const SnapshotError&) {
    throw;
  } catch (const std::logic_error& error) {  // by the snapshot's options; not the caller's fault
    throw SnapshotError(std::string("snapshot is inconsistent: ") + error.what());
  } catch (const std::runtime_error& error) {  // by its hotwords
    throw SnapshotError(std::string("snapshot is inconsistent: ") + error.what());
  }
}

}  // namespace runnel
