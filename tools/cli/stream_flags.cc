#include "tools/cli/stream_flags.h"

#include <gflags/gflags.h>

#include <string_view>
#include <type_traits>
#include <variant>

#include "runtime/word_list.h"
#include "tools/cli/command_line.h"

namespace runnel {
namespace {

// The meaning of an option, its range and what it needs.
std::string HelpOf(const StreamOption& option) {
  std::string help = option.meaning;
  const bool is_number = option.least < option.most;
  if (is_number) help += " " + option.Expected() + ".";
  if (std::holds_alternative<OptionChoice>(option.field) && option.name != "search") {
    help += " " + option.Expected() + ".";
  }
  if (option.needs.name.empty() || option.is_file() || option.name == "rescoring") return help;
  const std::string value(option.needs.value);
  return help + " Needs --" + std::string(option.needs.name) +
         (value.empty() || value == "true" ? "" : "=" + value) + ".";
}

// Whether an option of a server has an effect for the clients that choose what it needs: a beam
// search, rescoring or endpoints.
bool IsForClients(const StreamOption& option) {
  const std::string_view needed = option.needs.name;
  const bool selects_beam = option.is_file() || option.name == "rescoring";
  return !selects_beam && (needed == "search" || needed == "rescoring" || needed == "endpointing");
}

}  // namespace

const char* const kStreamFlagsSource = __FILE__;

StreamFlags::StreamFlags(OptionUser user) : user_(user) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (!option.IsOf(user)) continue;
    const OptionValue value = option.is_file() ? std::string() : Get(option, OptionValues());
    Flag& flag = flags_.emplace_back(Flag{&option, HelpOf(option), value, value});
    std::visit(
        [&](auto& current) {
          auto& initial = std::get<std::decay_t<decltype(current)>>(flag.default_value);
          gflags::FlagRegisterer(option.name.c_str(), flag.help.c_str(), kStreamFlagsSource,
                                 &current, &initial);
        },
        flag.value);
    if (!option.former_flag.empty()) AcceptFormerFlag(option.former_flag, option.name);
  }
}

ChosenOptions StreamFlags::Read() const {
  ChosenOptions options;
  for (const Flag& flag : flags_) {
    const std::string& name = flag.option->name;
    if (!IsFlagGiven(name)) continue;
    if (!flag.option->is_file()) {
      options.Set(*flag.option, flag.value);
      continue;
    }
    RequireFlag(name, "a file");
    options.names.insert(name);
  }
  ChosenOptions checked = options;
  for (const Flag& flag : flags_) {
    if (user_ == OptionUser::kServer && IsForClients(*flag.option)) {
      checked.names.erase(flag.option->name);
    }
  }
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
  for (const Flag& flag : flags_) {
    if (flag.option->name == name) return std::get<std::string>(flag.value);
  }
  return "";
}

}  // namespace runnel
