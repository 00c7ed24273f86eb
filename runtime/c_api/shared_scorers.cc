#include "runtime/c_api/shared_scorers.h"

#include <algorithm>
#include <utility>

#include "runtime/model.h"

namespace runnel::c_api {

std::shared_ptr<const LanguageModelScorer> SharedScorers::Get(
    const LanguageModelOptions& options, const std::shared_ptr<const Model>& model) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& entry) { return entry.scorer.expired(); }),
                 entries_.end());
  for (const Entry& entry : entries_) {
    if (entry.options.level != options.level || entry.options.weight != options.weight ||
        entry.options.bonus != options.bonus || entry.model.lock() != model) {
      continue;
    }
    if (auto scorer = entry.scorer.lock()) return scorer;
  }
  auto scorer = PrepareLanguageModel(options, model->tokens());
  Entry entry{options, model, scorer};
  entry.options.model = nullptr;
  entries_.push_back(std::move(entry));
  return scorer;
}

}  // namespace runnel::c_api
