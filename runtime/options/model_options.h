// The table of the options of a model: one row for each.
#ifndef RUNNEL_RUNTIME_OPTIONS_MODEL_OPTIONS_H_
#define RUNNEL_RUNTIME_OPTIONS_MODEL_OPTIONS_H_

#include <vector>

#include "runtime/c_api.h"
#include "runtime/model.h"
#include "runtime/options/option_row.h"

namespace runnel {

using ModelOption = OptionRow<ModelOptions, runnel_model_options>;

const std::vector<ModelOption>& ModelOptionTable();

// Throws OptionError for the first value that is out of its range.
void CheckRanges(const ModelOptions& options);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_OPTIONS_MODEL_OPTIONS_H_
