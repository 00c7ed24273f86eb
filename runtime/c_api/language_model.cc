// The functions of runtime/c_api.h for language models.
#include "runtime/language_model.h"

#include <memory>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"

using runnel::LanguageModel;
using runnel::c_api::Call;
using runnel::c_api::NotNull;

runnel_status runnel_language_model_load(const char* path, runnel_language_model** language_model,
                                         runnel_error* error) {
  return Call(error, [&] {
    NotNull(language_model, "language_model") = nullptr;
    NotNull(path, "path");
    auto loaded = std::make_unique<runnel_language_model>();
    loaded->language_model = LanguageModel::Load(path);
    *language_model = loaded.release();
  });
}

void runnel_language_model_free(runnel_language_model* language_model) { delete language_model; }
