#include "runtime/python/stream_options.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/options/option_error.h"
#include "runtime/options/stream_options.h"
#include "runtime/python/arguments.h"
#include "runtime/python/class.h"
#include "runtime/python/gil.h"
#include "runtime/python/option_keywords.h"
#include "runtime/python/search_files.h"

namespace runnel::python {
namespace {

// Files and what was made of them stay in `keywords`.
ChosenOptions Read(const Keywords& keywords) {
  ChosenOptions options;
  ForEachKeyword(StreamOptionTable(), keywords, "StreamOptions",
                 [&](const StreamOption& option, const Object& value) {
                   if (option.is_file()) {
                     options.names.insert(option.name);
                   } else {
                     options.Set(option, ValueFrom(option, value));
                   }
                 });
  return options;
}

}  // namespace

StreamOptions StreamOptionsFrom(const std::shared_ptr<Model>& model, const Keywords& keywords) {
  try {
    ChosenOptions all = Read(keywords);
    CompleteSearch(&all);
    SearchOptions& search = all.values.stream.search;
    if (all.Has("word_list")) search.word_list = ReadWordList(keywords["word_list"], *model);
    if (all.Has("hotwords")) {
      const Object hotwords = keywords["hotwords"];
      if (all.Has("hotword_score") && HeldBy<Hotwords>(hotwords) != nullptr) {
        throw std::invalid_argument("hotword_score needs hotwords as a path or a list");
      }
      search.hotwords =
          ReadHotwords(hotwords, *model, static_cast<float>(all.values.hotword_score));
    }
    if (all.Has("language_model")) {
      const auto shared = ReadLanguageModel(keywords["language_model"]);
      all.values.language_model.model = shared->model;
      const ReleasedGil released;
      search.language_model = shared->scorers.Get(all.values.language_model, model);
    }
    return all.values.stream;
  } catch (const OptionError& error) {
    throw std::invalid_argument(error.In(PythonOption));
  }
}

RestoreOptions RestoreOptionsFrom(const std::shared_ptr<Model>& model, const Object& word_list,
                                  const Object& language_model, const Object& nbest) {
  RestoreOptions options;
  if (!word_list.is_none()) options.word_list = ReadWordList(word_list, *model);
  if (!language_model.is_none()) options.language_model = ReadLanguageModel(language_model)->model;
  options.nbest = ValueOf<int>("nbest", nbest);
  return options;
}

std::string SnapshotBytes(const Object& snapshot) {
  if (PyBytes_Check(snapshot.get()) == 0) {
    Raise(PyExc_TypeError, "snapshot: expected bytes, got " + ClassNameOf(snapshot));
  }
  return BytesOf(snapshot);
}

}  // namespace runnel::python
