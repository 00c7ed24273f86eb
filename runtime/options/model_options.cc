#include "runtime/options/model_options.h"

namespace runnel {
namespace {

// A field of ModelOptions.
#define FIELD(name) (+[](ModelOptions & options) -> auto& { return options.name; })

std::vector<ModelOption> MakeModelTable() {
  using C = runnel_model_options;
  using Choice = ModelOption::Choice;
  constexpr OptionNeed nothing;
  constexpr double most_step_threads = 64;
  const std::vector<OptionUser> tools = {OptionUser::kModelTool};
  // clang-format off
  return {
      {"precision",
       Choice({"float32", "bfloat16", "int8", "float64", "default", "int4"}, FIELD(precision)),
       &C::precision, 0, 0, {}, "",
       "Data type of large matrix multiplications; float64, the reference: of everything. default: "
       "that of a packed model file, float32 of others; verify_streaming: float32 and float64. "
       "int4: of files from pack_model only.",
       nothing, tools},
      {"backend", Choice({"default", "cpu", "libtorch"}, FIELD(backend)), &C::backend, 0, 0, {}, "",
       "cpu: Runnel's kernels; libtorch: the reference, an optional component. default: cpu, but "
       "libtorch for float64.",
       nothing, tools},
      {"bfloat16_cache", FIELD(bfloat16_cache), &C::bfloat16_cache, 0, 0, {}, "",
       "Keep the keys and values of a stream as bfloat16, not float32, for half the memory (CPU "
       "backend only).",
       nothing, tools, "", "", "", "cache_precision", {"float32", "bfloat16"}},
      {"step_threads", FIELD(step_threads), &C::step_threads, 1, most_step_threads, {}, "threads",
       "Threads that compute one chunk together. More than 1 shorten the time of a chunk where few "
       "streams run. More threads than idle cores make it longer. Results are the same (CPU "
       "backend only).",
       nothing, tools},
      {"units_file", ModelOption::Path{FIELD(units_file)}, &C::units_file, 0, 0, {}, "",
       "units.txt of a model file that holds none (WeNet's final.zip).", nothing, tools, "", "", "",
       "units"},
      {"dynamic_chunk_convolution", FIELD(dynamic_chunk_convolution),
       &C::dynamic_chunk_convolution, 0, 0, {}, "",
       "Stream a model with symmetric convolution: its convolution takes frames after a chunk as "
       "zero. Changes the results. The recommended setting becomes chunk_size=32 "
       "left_context=128.",
       nothing, tools},
      {"running_normalization", FIELD(running_normalization), &C::running_normalization, 0, 0, {},
       "",
       "Stream a model that normalises features over the utterance: the statistics are those of "
       "the frames so far. Changes the results. The recommended setting becomes chunk_size=32 "
       "left_context=128.",
       nothing, tools},
  };
  // clang-format on
}

#undef FIELD

}  // namespace

const std::vector<ModelOption>& ModelOptionTable() {
  // Never destroyed: flags of the tools keep pointers to its rows.
  static const auto* const table = new std::vector<ModelOption>(MakeModelTable());
  return *table;
}

void CheckRanges(const ModelOptions& options) {
  for (const ModelOption& option : ModelOptionTable()) CheckRange(option, options);
}

}  // namespace runnel
