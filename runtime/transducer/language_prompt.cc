#include "runtime/transducer/language_prompt.h"

#include <set>
#include <stdexcept>
#include <utility>

#include "encoder/encoder_weights.h"
#include "encoder/json/json_section.h"
#include "encoder/model_file/weights.h"
#include "runtime/row_math/row_math.h"

namespace runnel {

int64_t LanguagePromptConfig::IndexOf(const std::string& language) const {
  const std::string& wanted = language.empty() ? default_language : language;
  std::string known;
  for (size_t i = 0; i < languages.size(); ++i) {
    if (languages[i].empty()) continue;
    if (languages[i] == wanted) return static_cast<int64_t>(i);
    known += (known.empty() ? "" : ", ") + languages[i];
  }
  throw std::invalid_argument("language is '" + wanted + "', expected one of " + known);
}

LanguagePromptConfig ParseLanguagePromptConfig(JsonSection section) {
  constexpr int64_t kMaxSize = 1 << 20;
  LanguagePromptConfig config;
  config.languages = section.Strings("languages");
  config.hidden_dim = section.Integer("hidden_dim", 1, kMaxSize);
  config.default_language = section.String("default");
  section.CheckAllTaken();
  std::set<std::string> names;
  for (const std::string& language : config.languages) {
    if (!language.empty() && !names.insert(language).second) {
      section.Fail("languages", "each name once");
    }
  }
  if (names.count(config.default_language) == 0) section.Fail("default", "one of the languages");
  return config;
}

LanguagePrompt::LanguagePrompt(const LanguagePromptConfig& config, int64_t model_dim,
                               const EncoderBackend& backend, Weights* weights)
    : hidden_dim_(config.hidden_dim), language_biases_(backend.data_type(), config.hidden_dim) {
  const auto num_languages = static_cast<int64_t>(config.languages.size());
  // Not a matrix of a linear layer, but the columns of one and biases.
  const int64_t input_dim = model_dim + num_languages;
  LinearWeights first;
  first.name = "prompt.w_1.weight";
  first.weight = weights->Take(first.name, {config.hidden_dim, input_dim});
  first.bias = weights->Take("prompt.w_1.bias", {config.hidden_dim});
  language_biases_ =
      Matrix(TensorRows(Transposed(Narrowed(first.weight, 1, model_dim, num_languages))));
  first.weight = Narrowed(first.weight, 1, 0, model_dim);
  linear_1_ = backend.MakeLinear(first);
  linear_2_ = backend.MakeLinear(BindLinear(weights, "prompt.w_2", config.hidden_dim, model_dim));
}

Matrix LanguagePrompt::Apply(ConstRows rows, const std::vector<int64_t>& languages) const {
  Matrix hidden(rows.type, hidden_dim_, rows.count);
  linear_1_->Forward(rows, hidden.rows());
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t language = languages[static_cast<size_t>(r)];
    AddTo(std::as_const(language_biases_).rows().Part(language, 1), hidden.rows().Part(r, 1));
  }
  Activate(Activation::kRelu, hidden.rows());
  Matrix output(rows.type, rows.dim, rows.count);
  linear_2_->Forward(std::as_const(hidden).rows(), output.rows());
  return output;
}

}  // namespace runnel
