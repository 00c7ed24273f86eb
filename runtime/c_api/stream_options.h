// runnel_stream_options and the table of options (runtime/options/stream_options.h).
#ifndef RUNNEL_RUNTIME_C_API_STREAM_OPTIONS_H_
#define RUNNEL_RUNTIME_C_API_STREAM_OPTIONS_H_

#include "runtime/c_api.h"
#include "runtime/options/stream_options.h"

namespace runnel::c_api {

runnel_stream_options StreamDefaults();

// The options of `c`, without its objects and its callback. Throws OptionError naming option, value
// and range.
OptionValues ValuesOf(const runnel_stream_options& c);

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_STREAM_OPTIONS_H_
