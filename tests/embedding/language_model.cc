// Options for streams with a language model. Make them once: their copies share what is prepared.
#include <runtime/language_model.h>
#include <runtime/model.h>
#include <runtime/stream.h>

#include <string>

runnel::StreamOptions OptionsWithLanguageModel(const runnel::Model& model,
                                               const std::string& path) {
  runnel::LanguageModelOptions language_model;
  language_model.model = runnel::LanguageModel::Load(path);
  language_model.weight = 0.4;
  runnel::StreamOptions options;
  options.search.method = runnel::SearchMethod::kPrefixBeam;
  options.search.language_model = runnel::PrepareLanguageModel(language_model, model.tokens());
  return options;
}
