// Tells a multilingual model the language of a stream.
#ifndef RUNNEL_RUNTIME_TRANSDUCER_LANGUAGE_PROMPT_H_
#define RUNNEL_RUNTIME_TRANSDUCER_LANGUAGE_PROMPT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/rows.h"

namespace runnel {

class JsonSection;
class Weights;

// The `prompt` section of a model file (models/README.md).
struct LanguagePromptConfig {
  std::vector<std::string> languages;  // by their place in the one-hot vector; "": unused
  int64_t hidden_dim = 0;
  std::string default_language;

  // Place of a language; "" is the default one. Throws std::invalid_argument that lists the
  // languages.
  int64_t IndexOf(const std::string& language) const;
};

// Throws std::runtime_error as JsonSection does.
LanguagePromptConfig ParseLanguagePromptConfig(JsonSection section);

// W_2 relu(W_1 [e; one-hot(language)] + b_1) + b_2 of every encoder frame e, before all heads
// (NeMo's models with a prompt). Immutable: Apply may run in several threads at once.
class LanguagePrompt {
 public:
  // Takes the tensors named prompt.*. Throws std::runtime_error as Weights does. `backend` is used
  // during the call only.
  LanguagePrompt(const LanguagePromptConfig& config, int64_t model_dim,
                 const EncoderBackend& backend, Weights* weights);

  // rows: (rows, model_dim). languages: IndexOf of each row. A row does not depend on the others.
  Matrix Apply(ConstRows rows, const std::vector<int64_t>& languages) const;

 private:
  int64_t hidden_dim_;
  Matrix language_biases_;  // (languages, hidden_dim): the columns of W_1 that a language selects
  std::unique_ptr<const LinearModule> linear_1_;  // of the encoder frame
  std::unique_ptr<const LinearModule> linear_2_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TRANSDUCER_LANGUAGE_PROMPT_H_
