#include "runtime/python/search_files.h"

#include <pybind11/stl.h>

#include <string>

#include "runtime/python/arguments.h"
#include "runtime/python/gil.h"

namespace py = pybind11;

namespace runnel::python {

std::shared_ptr<const WordList> ReadWordList(const py::handle& path, const Model& model) {
  if (py::isinstance<WordList>(path)) return path.cast<std::shared_ptr<WordList>>();
  const std::string file = ExistingFile(path, "a path or WordList");
  const ReleasedGil released;
  return WordList::Read(file, model.tokens());
}

std::shared_ptr<const Hotwords> ReadHotwords(const py::handle& phrases, const Model& model,
                                             float score) {
  if (py::isinstance<Hotwords>(phrases)) return phrases.cast<std::shared_ptr<Hotwords>>();
  if (!py::isinstance<py::list>(phrases) && !py::isinstance<py::tuple>(phrases)) {
    const std::string file = ExistingFile(phrases, "a path, a list of phrases or Hotwords");
    const ReleasedGil released;
    return Hotwords::Read(file, model.tokens(), score);
  }
  std::string text;
  for (const py::handle phrase : phrases) {
    const auto line = ValueOf<std::string>("a phrase of hotwords", phrase);
    if (line.find('\n') != std::string::npos) {
      throw py::value_error("a phrase of hotwords contains a line break, expected one line");
    }
    text += line + "\n";
  }
  const ReleasedGil released;
  return std::make_shared<const Hotwords>(text, model.tokens(), score, "hotwords");
}

std::shared_ptr<SharedLanguageModel> ReadLanguageModel(const py::handle& path) {
  if (py::isinstance<SharedLanguageModel>(path)) {
    return path.cast<std::shared_ptr<SharedLanguageModel>>();
  }
  const std::string file = ExistingFile(path, "a path or LanguageModel");
  const ReleasedGil released;
  auto loaded = std::make_shared<SharedLanguageModel>();
  loaded->model = LanguageModel::Load(file);
  return loaded;
}

}  // namespace runnel::python
