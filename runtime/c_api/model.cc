// The functions of runtime/c_api.h for models, and for what is made of their tokens: word lists and
// hotwords.
#include "runtime/model.h"

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/options.h"
#include "runtime/c_api/sized_struct.h"
#include "runtime/hotwords.h"
#include "runtime/word_list.h"

using runnel::Hotwords;
using runnel::Model;
using runnel::WordList;
using runnel::c_api::Call;
using runnel::c_api::ModelDefaults;
using runnel::c_api::NotNull;

const char* runnel_version(void) { return RUNNEL_VERSION; }

void runnel_model_options_init(runnel_model_options* options, size_t struct_size) {
  runnel::c_api::Initialise(ModelDefaults(), options, struct_size);
}

runnel_status runnel_model_load(const char* path, const runnel_model_options* options,
                                runnel_model** model, runnel_error* error) {
  return Call(error, [&] {
    NotNull(model, "model") = nullptr;
    NotNull(path, "path");
    auto loaded = std::make_unique<runnel_model>();
    const runnel_model_options given =
        runnel::c_api::Read(options, ModelDefaults(), "runnel_model_options");
    loaded->model = Model::Load(path, runnel::c_api::ValuesOf(given));
    loaded->description = loaded->model->ComputeDescription();
    loaded->languages = loaded->model->languages();
    *model = loaded.release();
  });
}

void runnel_model_free(runnel_model* model) { delete model; }

const char* runnel_model_name(const runnel_model* model) {
  return model == nullptr ? "" : model->model->name().c_str();
}

const char* runnel_model_fingerprint(const runnel_model* model) {
  return model == nullptr ? "" : model->model->fingerprint().c_str();
}

const char* runnel_model_description(const runnel_model* model) {
  return model == nullptr ? "" : model->description.c_str();
}

int32_t runnel_model_sample_rate_hz(const runnel_model* model) {
  return model == nullptr ? 0 : model->model->sample_rate_hz();
}

double runnel_model_frame_ms(const runnel_model* model) {
  return model == nullptr ? 0 : model->model->encoder_frame_ms();
}

const char* runnel_model_token(const runnel_model* model, int32_t id) {
  if (model == nullptr || id < 0 || id >= model->model->tokens().size()) return nullptr;
  return model->model->tokens().name(id).c_str();
}

size_t runnel_model_num_languages(const runnel_model* model) {
  return model == nullptr ? 0 : model->languages.size();
}

const char* runnel_model_language(const runnel_model* model, size_t index) {
  if (model == nullptr || index >= model->languages.size()) return nullptr;
  return model->languages[index].c_str();
}

runnel_status runnel_word_list_load(const runnel_model* model, const char* path,
                                    runnel_word_list** word_list, runnel_error* error) {
  return Call(error, [&] {
    NotNull(word_list, "word_list") = nullptr;
    const Model& of = *NotNull(model, "model").model;
    NotNull(path, "path");
    auto loaded = std::make_unique<runnel_word_list>();
    loaded->word_list = WordList::Read(path, of.tokens());
    *word_list = loaded.release();
  });
}

void runnel_word_list_free(runnel_word_list* word_list) { delete word_list; }

runnel_status runnel_hotwords_load(const runnel_model* model, const char* path, float default_score,
                                   runnel_hotwords** hotwords, runnel_error* error) {
  return Call(error, [&] {
    NotNull(hotwords, "hotwords") = nullptr;
    const Model& of = *NotNull(model, "model").model;
    NotNull(path, "path");
    auto loaded = std::make_unique<runnel_hotwords>();
    loaded->hotwords = Hotwords::Read(path, of.tokens(), default_score);
    *hotwords = loaded.release();
  });
}

runnel_status runnel_hotwords_create(const runnel_model* model, const char* text,
                                     float default_score, runnel_hotwords** hotwords,
                                     runnel_error* error) {
  return Call(error, [&] {
    NotNull(hotwords, "hotwords") = nullptr;
    const Model& of = *NotNull(model, "model").model;
    NotNull(text, "text");
    auto made = std::make_unique<runnel_hotwords>();
    made->hotwords = std::make_shared<const Hotwords>(text, of.tokens(), default_score, "hotwords");
    *hotwords = made.release();
  });
}

void runnel_hotwords_free(runnel_hotwords* hotwords) { delete hotwords; }

float runnel_hotwords_default_score(void) { return Hotwords::kDefaultScore; }
