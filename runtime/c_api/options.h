// The structs of options in C and the tables of options (runtime/options/).
#ifndef RUNNEL_RUNTIME_C_API_OPTIONS_H_
#define RUNNEL_RUNTIME_C_API_OPTIONS_H_

#include "runtime/c_api.h"
#include "runtime/options/model_options.h"
#include "runtime/options/stream_options.h"

namespace runnel::c_api {

runnel_model_options ModelDefaults();
runnel_stream_options StreamDefaults();

// The options of `c`, of a stream without its objects and its callback. Throws OptionError naming
// option, value and range.
ModelOptions ValuesOf(const runnel_model_options& c);
OptionValues ValuesOf(const runnel_stream_options& c);

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_OPTIONS_H_
