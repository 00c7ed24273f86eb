// The functions of runtime/c_api.h for models, and for what is made of their tokens: word lists and
// hotwords.
#include "runtime/model.h"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/sized_struct.h"
#include "runtime/hotwords.h"
#include "runtime/word_list.h"

using runnel::Hotwords;
using runnel::Model;
using runnel::ModelOptions;
using runnel::WordList;
using runnel::c_api::Call;
using runnel::c_api::NotNull;
using runnel::c_api::Truth;

namespace {

constexpr runnel_model_options kDefaults = {sizeof(runnel_model_options),
                                            RUNNEL_PRECISION_DEFAULT,
                                            RUNNEL_BACKEND_DEFAULT,
                                            0,
                                            0,
                                            0,
                                            nullptr,
                                            1};

[[noreturn]] void Unknown(const char* field, int32_t value, const char* expected) {
  throw std::invalid_argument("runnel_model_options." + std::string(field) + " is " +
                              std::to_string(value) + ", expected one of " + expected);
}

runnel::Precision PrecisionOf(int32_t value) {
  switch (value) {
    case RUNNEL_PRECISION_DEFAULT:
      return runnel::Precision::kDefault;
    case RUNNEL_FLOAT32:
      return runnel::Precision::kFloat32;
    case RUNNEL_BFLOAT16:
      return runnel::Precision::kBfloat16;
    case RUNNEL_INT8:
      return runnel::Precision::kInt8;
    case RUNNEL_FLOAT64:
      return runnel::Precision::kFloat64;
  }
  Unknown("precision", value,
          "RUNNEL_PRECISION_DEFAULT, RUNNEL_FLOAT32, _BFLOAT16, _INT8 and _FLOAT64");
}

runnel::Backend BackendOf(int32_t value) {
  switch (value) {
    case RUNNEL_BACKEND_DEFAULT:
      return runnel::Backend::kDefault;
    case RUNNEL_BACKEND_CPU:
      return runnel::Backend::kCpu;
    case RUNNEL_BACKEND_LIBTORCH:
      return runnel::Backend::kLibTorch;
  }
  Unknown("backend", value, "RUNNEL_BACKEND_DEFAULT, _CPU and _LIBTORCH");
}

ModelOptions OptionsOf(const runnel_model_options* given) {
  const runnel_model_options c = runnel::c_api::Read(given, kDefaults, "runnel_model_options");
  ModelOptions options;
  options.precision = PrecisionOf(c.precision);
  options.backend = BackendOf(c.backend);
  options.bfloat16_cache = Truth(c.bfloat16_cache, "runnel_model_options.bfloat16_cache");
  options.dynamic_chunk_convolution =
      Truth(c.dynamic_chunk_convolution, "runnel_model_options.dynamic_chunk_convolution");
  options.running_normalization =
      Truth(c.running_normalization, "runnel_model_options.running_normalization");
  if (c.units_file != nullptr) options.units_file = c.units_file;
  options.step_threads = c.step_threads;
  return options;
}

}  // namespace

const char* runnel_version(void) { return RUNNEL_VERSION; }

void runnel_model_options_init(runnel_model_options* options, size_t struct_size) {
  runnel::c_api::Initialise(kDefaults, options, struct_size);
}

runnel_status runnel_model_load(const char* path, const runnel_model_options* options,
                                runnel_model** model, runnel_error* error) {
  return Call(error, [&] {
    NotNull(model, "model") = nullptr;
    NotNull(path, "path");
    auto loaded = std::make_unique<runnel_model>();
    loaded->model = Model::Load(path, OptionsOf(options));
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
