// One prepared language model for all streams of a model that use it with the same options.
#ifndef RUNNEL_RUNTIME_C_API_SHARED_SCORERS_H_
#define RUNNEL_RUNTIME_C_API_SHARED_SCORERS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/language_model.h"

namespace runnel {
class Model;
}  // namespace runnel

namespace runnel::c_api {

// Thread-safe.
class SharedScorers {
 public:
  // What PrepareLanguageModel returns and throws, for `model`: the scorer of an earlier call with
  // equal arguments while it is in use, else another one.
  std::shared_ptr<const LanguageModelScorer> Get(const LanguageModelOptions& options,
                                                 const std::shared_ptr<const Model>& model);

 private:
  struct Entry {
    LanguageModelOptions options;  // without the language model, which may be freed
    // Weak: neither a model nor a scorer lives longer than its streams.
    std::weak_ptr<const Model> model;
    std::weak_ptr<const LanguageModelScorer> scorer;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_SHARED_SCORERS_H_
