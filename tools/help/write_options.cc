// write_options: writes the tables of options (runtime/options/) as the page docs/options.md or as
// the Python module runnel.options. Builds and tests run it.
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/options/model_options.h"
#include "runtime/options/stream_options.h"

namespace runnel {
namespace {

constexpr char kPageHead[] = R"(# Options

This page lists the [options of streams](#options-of-streams) and the
[options of models](#options-of-models). It is written by
`build/bin/write_options page > docs/options.md` from the tables in `runtime/options/`.

## Options of streams

The name of an option is the same everywhere:

| where | how |
| --- | --- |
| [`runnel transcribe`](tools.md#runnel-transcribe), `runnel live` | `--name=value` |
| `runnel serve` | `--name=value`: the default for clients that choose nothing |
| the server's clients | a field of Runnel's [start message](protocol.md), a parameter of [`/v1/recognize`](protocol.md#http). Options that need `endpointing` stand in the object `"endpointing"`, without `endpoint_` |
| Python | a keyword argument, [`runnel.StreamOptions`](python.md) |
| C | a field of `runnel_stream_options` in [runtime/c_api.h](../runtime/c_api.h); word lists, hotwords and language models are objects |
| C++ | a field of `StreamOptions` in [runtime/stream.h](../runtime/stream.h) |

An option without effect is refused: "`--beam_size needs --search=beam`". Word lists, hotwords,
language models and rescoring select the beam search where no search is chosen. The structs of C and
C++ are taken as they are: nothing is selected, what a search lacks is refused, and what has no
effect is not.

In a start message, `early_text` and `sample_rate` are still taken for `early_text_interval` and
`sample_rate_hz`; in a query, `endpoint_reset_encoder` and `endpoint_skip_silence` for
`reset_encoder` and `skip_silence`.

| option | default | values | meaning | needs | flag of | clients |
| --- | --- | --- | --- | --- | --- | --- |
)";

constexpr char kModelsHead[] = R"(
## Options of models

| where | how |
| --- | --- |
| tools that run a model | the flag |
| Python | a keyword argument of `runnel.load`, [`runnel.ModelOptions`](python.md) |
| C | a field of `runnel_model_options` in [runtime/c_api.h](../runtime/c_api.h) |
| C++ | a field of `ModelOptions` in [runtime/model.h](../runtime/model.h) |

| option | default | values | meaning | flag |
| --- | --- | --- | --- | --- |
)";

constexpr char kModuleHead[] =
    R"("""The keyword arguments of everything that loads models and opens streams."""

import os
from typing import List, Literal, Optional, Tuple, TypedDict, Union

from runnel._runnel import Hotwords, LanguageModel, WordList

Path = Union[str, os.PathLike[str]]
)";

constexpr char kModelsClass[] = R"(

class ModelOptions(TypedDict, total=False):
    """Options of a model; all are optional, and None stands for the default."""
)";

constexpr char kStreamsClass[] = R"(

class StreamOptions(TypedDict, total=False):
    """Options of a stream; all are optional, and None stands for the default.

    Sizes are in encoder frames (Model.encoder_frame_ms each). An option that has no effect with the
    others is refused.
    """
)";

// As one writes it: "0.8", "greedy", "true".
template <typename Row>
std::string DefaultOf(const Row& option) {
  if (option.is_file()) return "";
  std::ostringstream text;
  text << std::boolalpha;
  std::visit([&](const auto& value) { text << value; }, Get(option, typename Row::Values()));
  return text.str();
}

template <typename Row>
std::string Needed(const Row& option) {
  const std::string value(option.needs.value);
  return std::string(option.needs.name) + (value.empty() || value == "true" ? "" : "=" + value);
}

std::string Code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

template <typename Row>
std::string ValuesOf(const Row& option) {
  using Text = typename Row::template Field<std::string>;
  if (option.is_file() || std::holds_alternative<typename Row::Path>(option.field)) return "a file";
  if (std::holds_alternative<Text>(option.field)) return "text";
  return option.Expected();
}

std::string ToolsOf(const StreamOption& option) {
  std::string tools;
  if (option.IsOf(OptionUser::kDecodeWav)) tools = "transcribe, live";
  if (option.IsOf(OptionUser::kServer)) tools += tools.empty() ? "serve" : ", serve";
  return tools;
}

// Whether clients choose it, and the limit.
std::string ClientsOf(const StreamOption& option) {
  const bool is_live = option.IsOf(OptionUser::kLive);
  if (!is_live && !option.IsOf(OptionUser::kClient)) return "";
  const std::string clients = is_live ? "live streams" : "yes";
  return clients + (option.server_limit.empty() ? "" : ", up to `--" + option.server_limit + "`");
}

std::string FlagOf(const ModelOption& option) {
  if (!option.IsOf(OptionUser::kModelTool)) return "";
  const std::vector<std::string>& names = option.truth_names;
  return "`--" + option.flag_name() + "`" + (names.empty() ? "" : ": " + Listed(names));
}

// The columns that all tables begin with.
template <typename Row>
std::string Columns(const Row& option) {
  return "| " + Code(option.name) + " | " + Code(DefaultOf(option)) + " | " + ValuesOf(option) +
         " | " + option.meaning + " | ";
}

void WritePage(std::ostream* page) {
  *page << kPageHead;
  for (const StreamOption& option : StreamOptionTable()) {
    *page << Columns(option) << Code(Needed(option)) << " | " << ToolsOf(option) << " | "
          << ClientsOf(option) << " |\n";
  }
  *page << "\nNames of flags in earlier releases, which are still taken: ";
  std::string separator;
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.former_flag.empty()) continue;
    *page << separator << "`--" << option.former_flag << "` for `--" << option.name << "`";
    separator = ", ";
  }
  *page << ".\n" << kModelsHead;
  for (const ModelOption& option : ModelOptionTable()) {
    *page << Columns(option) << FlagOf(option) << " |\n";
  }
}

template <typename Row>
std::string PythonTypeOf(const Row& option) {
  static const std::map<std::string, std::string> files = {
      {"word_list", "Union[Path, WordList, None]"},
      {"hotwords", "Union[Path, List[str], Tuple[str, ...], Hotwords, None]"},
      {"language_model", "Union[Path, LanguageModel, None]"}};
  return std::visit(
      [&](const auto& field) -> std::string {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, OptionFile>) {
          return files.at(option.name);
        } else if constexpr (std::is_same_v<Field, typename Row::Path>) {
          return "Optional[Path]";
        } else if constexpr (std::is_same_v<Field, typename Row::Choice>) {
          std::string names;
          for (const std::string& name : field.names) {
            if (!name.empty()) names += (names.empty() ? "\"" : ", \"") + name + "\"";
          }
          return "Optional[Literal[" + names + "]]";
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<bool>>) {
          return "Optional[bool]";
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<double>>) {
          return "Optional[float]";
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<std::string>>) {
          return "Optional[str]";
        } else {
          return "Optional[int]";
        }
      },
      option.field);
}

template <typename Row>
void WriteClass(const char* head, const std::vector<Row>& table, std::ostream* module) {
  *module << head;
  for (const Row& option : table) {
    const std::string needed = Needed(option);
    *module << "\n    # " << option.meaning << "\n    # " << ValuesOf(option);
    if (!DefaultOf(option).empty()) *module << "; default " << DefaultOf(option);
    if (!needed.empty()) *module << "; needs " << needed;
    *module << "\n    " << option.name << ": " << PythonTypeOf(option) << "\n";
  }
}

void WriteModule(std::ostream* module) {
  *module << kModuleHead;
  WriteClass(kModelsClass, ModelOptionTable(), module);
  WriteClass(kStreamsClass, StreamOptionTable(), module);
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "page") {
    runnel::WritePage(&std::cout);
  } else if (what == "module") {
    runnel::WriteModule(&std::cout);
  } else {
    std::fprintf(stderr, "write_options: expected the argument page or module\n");
    return 2;
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
