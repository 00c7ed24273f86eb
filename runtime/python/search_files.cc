#include "runtime/python/search_files.h"

#include <stdexcept>
#include <string>

#include "runtime/python/arguments.h"
#include "runtime/python/class.h"
#include "runtime/python/gil.h"

namespace runnel::python {

std::shared_ptr<const WordList> ReadWordList(const Object& path, const Model& model) {
  if (auto word_list = HeldBy<WordList>(path)) return word_list;
  const std::string file = ExistingFile(path, "a path or WordList");
  const ReleasedGil released;
  return WordList::Read(file, model.tokens());
}

std::shared_ptr<const Hotwords> ReadHotwords(const Object& phrases, const Model& model,
                                             float score) {
  if (auto hotwords = HeldBy<Hotwords>(phrases)) return hotwords;
  if (PyList_Check(phrases.get()) == 0 && PyTuple_Check(phrases.get()) == 0) {
    const std::string file = ExistingFile(phrases, "a path, a list of phrases or Hotwords");
    const ReleasedGil released;
    return Hotwords::Read(file, model.tokens(), score);
  }
  std::string text;
  const Py_ssize_t num_phrases = PySequence_Size(phrases.get());
  for (Py_ssize_t i = 0; i < num_phrases; ++i) {
    const Object phrase = Object::Own(PySequence_GetItem(phrases.get(), i));
    const auto line = ValueOf<std::string>("a phrase of hotwords", phrase);
    if (line.find('\n') != std::string::npos) {
      throw std::invalid_argument("a phrase of hotwords contains a line break, expected one line");
    }
    text += line + "\n";
  }
  const ReleasedGil released;
  return std::make_shared<const Hotwords>(text, model.tokens(), score, "hotwords");
}

std::shared_ptr<SharedLanguageModel> ReadLanguageModel(const Object& path) {
  if (auto language_model = HeldBy<SharedLanguageModel>(path)) return language_model;
  const std::string file = ExistingFile(path, "a path or LanguageModel");
  const ReleasedGil released;
  auto loaded = std::make_shared<SharedLanguageModel>();
  loaded->model = LanguageModel::Load(file);
  return loaded;
}

}  // namespace runnel::python
