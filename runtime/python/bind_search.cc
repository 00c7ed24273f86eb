#include <memory>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/model.h"
#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/class.h"
#include "runtime/python/search_files.h"
#include "runtime/word_list.h"

namespace runnel::python {
void BindSearch(PyObject* module) {
  Class<WordList>("WordList",
                  R"(The words that a search is restricted to.

path: a file with one spelling per line (runtime/word_list.h). For any number of streams of the
model.)")
      .Init(
          [](const Object& model, const Object& path) {
            return std::const_pointer_cast<WordList>(ReadWordList(path, *ModelOf(model)));
          },
          {"model", "path"})
      .Property("fingerprint", kCall<&WordList::fingerprint>,
                "32 hexadecimal digits, equal for equal words and tokens.")
      .AddTo(module);

  Class<Hotwords>("Hotwords",
                  R"(Phrases that a beam search prefers.

phrases: the path of a file with one phrase per line, or a list of phrases; each may end in its own
score, as in "new york :1.5" (docs/hotwords.md). score: bonus per character of phrases without one,
-100 to 100. For any number of streams of the model.)")
      .Init(
          [](const Object& model, const Object& phrases, const Object& score) {
            return std::const_pointer_cast<Hotwords>(
                ReadHotwords(phrases, *ModelOf(model), ValueOf<float>("score", score)));
          },
          {"model", "phrases", {"score", Hotwords::kDefaultScore}})
      .Property(
          "phrases",
          [](const Hotwords& self) {
            std::vector<Object> phrases;
            for (size_t i = 0; i < self.num_phrases(); ++i) {
              phrases.push_back(ToObject(self.phrase(i)));
            }
            return TupleOf(phrases);
          },
          "The phrases in the order of the list, each once.")
      .Repr([](const Hotwords& self) {
        return "<runnel.Hotwords: " + std::to_string(self.num_phrases()) + " phrases>";
      })
      .AddTo(module);

  Class<SharedLanguageModel>("LanguageModel", R"(An n-gram language model with back-off.

path: ARPA text, or a file of compile_lm (docs/language_models.md). For any number of streams of any
models. Open streams of one model with equal settings share what is prepared for its vocabulary.)")
      .Init(kCall<&ReadLanguageModel>, {"path"})
      .Property(
          "order", [](const SharedLanguageModel& self) { return self.model->order(); },
          "The number of words in the longest n-grams.")
      .Property(
          "num_ngrams", [](const SharedLanguageModel& self) { return self.model->num_ngrams(); },
          "The n-grams of all lengths.")
      .Property(
          "fingerprint", [](const SharedLanguageModel& self) { return self.model->fingerprint(); },
          "32 hexadecimal digits, equal for models with equal n-grams and numbers.")
      .Repr([](const SharedLanguageModel& self) {
        return "<runnel.LanguageModel: " + std::to_string(self.model->num_ngrams()) + " n-grams>";
      })
      .AddTo(module);
}

}  // namespace runnel::python
