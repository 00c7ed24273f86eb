#include "tools/cli/stream_flags.h"

#include <string_view>
#include <variant>

#include "runtime/word_list.h"
#include "tools/cli/command_line.h"

namespace runnel {
namespace {

// Whether an option of a server has an effect for the clients that choose what it needs: a beam
// search, rescoring or endpoints.
bool IsForClients(const StreamOption& option) {
  const std::string_view needed = option.needs.name;
  const bool selects_beam = option.is_file() || option.name == "rescoring";
  return !selects_beam && (needed == "search" || needed == "rescoring" || NeedsEndpointing(option));
}

}  // namespace

const FlagSource kStreamFlagsSource = {__FILE__, "Flags of the recognition (docs/options.md)"};

StreamFlags::StreamFlags(OptionUser user)
    : user_(user), flags_(StreamOptionTable(), user, __FILE__) {}

ChosenOptions StreamFlags::Read() const {
  ChosenOptions options;
  ChosenOptions checked;
  flags_.ForEach([&](const StreamOption& option, const OptionValue& value) {
    if (!IsFlagGiven(option.flag_name())) return;
    if (option.is_file()) {
      RequireFlag(option.flag_name(), "a file");
      options.names.insert(option.name);
    } else {
      options.Set(option, value);
    }
    if (user_ != OptionUser::kServer || !IsForClients(option)) checked.names.insert(option.name);
  });
  checked.values = options.values;
  CompleteSearch(&checked);
  options.values = checked.values;
  return options;
}

void StreamFlags::ReadFiles(const TokenTable& tokens, OptionValues* values) const {
  SearchOptions& search = values->stream.search;
  if (const std::string file = FileOf("word_list"); !file.empty()) {
    search.word_list = WordList::Read(file, tokens);
  }
  if (const std::string file = FileOf("hotwords"); !file.empty()) {
    search.hotwords = Hotwords::Read(file, tokens, static_cast<float>(values->hotword_score));
  }
  if (const std::string file = FileOf("language_model"); !file.empty()) {
    values->language_model.model = LanguageModel::Load(file);
    search.language_model = PrepareLanguageModel(values->language_model, tokens);
  }
}

std::vector<std::string> StreamFlags::InputFiles() const {
  return {FileOf("word_list"), FileOf("hotwords"), FileOf("language_model")};
}

std::string StreamFlags::FileOf(const std::string& name) const {
  std::string file;
  flags_.ForEach([&](const StreamOption& option, const OptionValue& value) {
    if (option.name == name) file = std::get<std::string>(value);
  });
  return file;
}

}  // namespace runnel
