// Word lists, hotwords and language models from arguments of Python.
#ifndef RUNNEL_RUNTIME_PYTHON_SEARCH_FILES_H_
#define RUNNEL_RUNTIME_PYTHON_SEARCH_FILES_H_

#include <memory>

#include "runtime/c_api/shared_scorers.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/model.h"
#include "runtime/python/object.h"
#include "runtime/word_list.h"

namespace runnel::python {

// A language model, and what is prepared of it for models.
struct SharedLanguageModel {
  std::shared_ptr<const LanguageModel> model;
  c_api::SharedScorers scorers;
};

// The functions below take the GIL's holder as caller, and read files without it. An argument may
// be an object of the class that the function returns. They raise TypeError for an object of
// another type, FileNotFoundError, and what the classes throw.

std::shared_ptr<const WordList> ReadWordList(const Object& path, const Model& model);

// `phrases`: a path, or a list or tuple of str.
std::shared_ptr<const Hotwords> ReadHotwords(const Object& phrases, const Model& model,
                                             float score);

std::shared_ptr<SharedLanguageModel> ReadLanguageModel(const Object& path);

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_SEARCH_FILES_H_
