#include "runtime/options/option_error.h"

#include <cstddef>
#include <utility>

#include "runtime/options/model_options.h"
#include "runtime/options/stream_options.h"

namespace runnel {
namespace {

// Null for a name that is in neither table.
const OptionInfo* FindInfo(const std::string& name) {
  if (const OptionInfo* option = FindStreamOption(name)) return option;
  return FindOption(ModelOptionTable(), name);
}

// Around the name of an option, and between it and its value. No printable text has them.
constexpr char kMark = '\1';
constexpr char kEquals = '\2';

std::string Spell(const std::string& text, OptionSpelling spelling) {
  std::string line;
  size_t position = 0;
  while (position < text.size()) {
    const size_t begin = text.find(kMark, position);
    line += text.substr(position, begin - position);
    if (begin == std::string::npos) break;
    const size_t end = text.find(kMark, begin + 1);
    const std::string option = text.substr(begin + 1, end - begin - 1);
    const size_t equals = option.find(kEquals);
    line += spelling(option.substr(0, equals),
                     equals == std::string::npos ? "" : option.substr(equals + 1));
    position = end == std::string::npos ? text.size() : end + 1;
  }
  return line;
}

}  // namespace

std::string OptionName(const std::string& name, const std::string& value) {
  return kMark + name + (value.empty() ? "" : kEquals + value) + kMark;
}

OptionError::OptionError(std::string text)
    : std::invalid_argument(Spell(text, PlainOption)), text_(std::move(text)) {}

std::string OptionError::In(OptionSpelling spelling) const { return Spell(text_, spelling); }

std::string PlainOption(const std::string& name, const std::string& value) {
  return value.empty() ? name : name + "=" + value;
}

std::string FlagOption(const std::string& name, const std::string& value) {
  const OptionInfo* const option = FindInfo(name);
  std::string flag = "--" + (option == nullptr ? name : option->flag_name());
  if (value.empty()) return flag;
  if (option != nullptr && !option->truth_names.empty()) {
    return flag + "=" + option->truth_names[value == "true" ? 1 : 0];
  }
  return value == "true" ? flag : flag + "=" + value;
}

std::string PythonOption(const std::string& name, const std::string& value) {
  if (value.empty()) return name;
  if (value == "true") return name + "=True";
  const bool is_number = value.find_first_not_of("-0123456789.") == std::string::npos;
  return name + "=" + (is_number ? value : "'" + value + "'");
}

}  // namespace runnel
