#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>

#include "runtime/hotwords.h"
#include "runtime/model.h"
#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/search_files.h"
#include "runtime/word_list.h"

namespace py = pybind11;

namespace runnel::python {

void BindSearch(py::module_* module) {
  py::class_<WordList, std::shared_ptr<WordList>>(*module, "WordList",
                                                  R"(The words that a search is restricted to.

path: a file with one spelling per line (runtime/word_list.h). For any number of streams of the
model.)")
      .def(py::init([](const Model& model, const py::object& path) {
             return std::const_pointer_cast<WordList>(ReadWordList(path, model));
           }),
           py::arg("model"), py::arg("path"))
      .def_property_readonly("fingerprint", &WordList::fingerprint,
                             "32 hexadecimal digits, equal for equal words and tokens.");

  py::class_<Hotwords, std::shared_ptr<Hotwords>>(*module, "Hotwords",
                                                  R"(Phrases that a beam search prefers.

phrases: the path of a file with one phrase per line, or a list of phrases; each may end in its own
score, as in "new york :1.5" (docs/hotwords.md). score: bonus per character of phrases without one,
-100 to 100. For any number of streams of the model.)")
      .def(py::init([](const Model& model, const py::object& phrases, const py::object& score) {
             return std::const_pointer_cast<Hotwords>(
                 ReadHotwords(phrases, model, ValueOf<float>("score", score)));
           }),
           py::arg("model"), py::arg("phrases"), py::arg("score") = Hotwords::kDefaultScore)
      .def_property_readonly(
          "phrases",
          [](const Hotwords& self) {
            py::tuple phrases(self.num_phrases());
            for (size_t i = 0; i < self.num_phrases(); ++i) phrases[i] = self.phrase(i);
            return phrases;
          },
          "The phrases in the order of the list, each once.")
      .def("__repr__", [](const Hotwords& self) {
        return "<runnel.Hotwords: " + std::to_string(self.num_phrases()) + " phrases>";
      });

  py::class_<SharedLanguageModel, std::shared_ptr<SharedLanguageModel>>(
      *module, "LanguageModel", R"(An n-gram language model with back-off.

path: ARPA text, or a file of compile_lm (docs/language_models.md). For any number of streams of any
models. Open streams of one model with equal settings share what is prepared for its vocabulary.)")
      .def(py::init(&ReadLanguageModel), py::arg("path"))
      .def_property_readonly(
          "order", [](const SharedLanguageModel& self) { return self.model->order(); },
          "The number of words in the longest n-grams.")
      .def_property_readonly(
          "num_ngrams", [](const SharedLanguageModel& self) { return self.model->num_ngrams(); },
          "The n-grams of all lengths.")
      .def_property_readonly(
          "fingerprint", [](const SharedLanguageModel& self) { return self.model->fingerprint(); },
          "32 hexadecimal digits, equal for models with equal n-grams and numbers.")
      .def("__repr__", [](const SharedLanguageModel& self) {
        return "<runnel.LanguageModel: " + std::to_string(self.model->num_ngrams()) + " n-grams>";
      });
}

}  // namespace runnel::python
