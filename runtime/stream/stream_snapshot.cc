// Stream::Snapshot and Stream::Restore.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/model.h"
#include "runtime/options/stream_options.h"
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

// The options in a snapshot.
struct SavedOptions {
  OptionValues values;
  // Instead of what was made of files: fingerprints, and Hotwords::text(). "": none.
  std::string word_list;
  std::string hotwords;
  std::string language_model;

  // The text for a file.
  std::string& TextOf(const std::string& file) {
    return file == "word_list" ? word_list : file == "hotwords" ? hotwords : language_model;
  }
};

// The rules as a whole, also their numbers that have no option.
template <class Fields>
void VisitRules(EndpointOptions& endpoints, Fields& fields) {
  for (auto& rule : endpoints.rules) {
    fields.Value(rule.needs_speech);
    fields.Value(rule.min_silence_s);
    fields.Value(rule.min_utterance_s);
  }
}

// An option that is no file.
template <class Fields>
void VisitOption(const StreamOption& option, OptionValues& values, Fields& fields) {
  std::visit(
      [&](const auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, OptionChoice>) {
          int32_t number = field.get(values);
          fields.Value(number);
          field.set(values, number);  // Stream's constructor checks it
        } else if constexpr (std::is_same_v<Field, OptionField<std::string>> ||
                             std::is_same_v<Field, StreamOption::Path>) {
          fields.Text(field(values));
        } else if constexpr (!std::is_same_v<Field, OptionFile>) {
          fields.Value(field(values));
        }
      },
      option.field);
}

// Not hotword_score, which is in the list of the hotwords.
template <class Fields>
void VisitOptions(SavedOptions& saved, Fields& fields) {
  VisitRules(saved.values.stream.endpoints, fields);
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.name == "hotword_score") continue;
    if (option.is_file()) {
      fields.Text(saved.TextOf(option.name));
    } else {
      VisitOption(option, saved.values, fields);
    }
  }
}

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
  if (state_->input.is_preview()) throw std::invalid_argument("Snapshot of a preview");
  SavedOptions saved;
  saved.values.stream = state_->options;
  const SearchOptions& search = saved.values.stream.search;
  saved.word_list = FingerprintOf(search.word_list);
  if (search.hotwords != nullptr) saved.hotwords = search.hotwords->text();
  saved.values.language_model = {nullptr, LanguageModelLevel::kWord, 0, 0};
  if (search.language_model != nullptr) {
    saved.values.language_model = search.language_model->options();
    saved.language_model = FingerprintOf(saved.values.language_model.model);
  }
  StateWriter writer;
  VisitOptions(saved, writer);
  const State& state = *state_;
  State::VisitState(state, writer);
  return SealSnapshot(state.model->fingerprint(), writer.Take());
}

Stream Stream::Restore(std::shared_ptr<const Model> model, const std::string& snapshot,
                       const RestoreOptions& given) {
  if (model == nullptr) throw std::invalid_argument("Stream::Restore was given no model");
  StateReader reader(OpenSnapshot(snapshot, model->fingerprint()));
  SavedOptions saved;
  VisitOptions(saved, reader);
  CheckFingerprint("word list", saved.word_list, FingerprintOf(given.word_list));
  LanguageModelOptions& language_model = saved.values.language_model;
  language_model.model = GivenLanguageModel(saved, given);
  CheckFingerprint("language model", saved.language_model, FingerprintOf(language_model.model));
  StreamOptions& options = saved.values.stream;
  options.search.word_list = given.word_list;
  if (given.nbest != 0) options.nbest = given.nbest;
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
