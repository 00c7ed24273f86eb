#include "encoder/model_file/script_class.h"

#include <locale>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/printable_name.h"

namespace runnel {
namespace {

constexpr char kIndent[] = "  ";

// The words of `["weight", "bias", ]`.
std::set<std::string, std::less<>> QuotedWords(const std::string& text) {
  std::set<std::string, std::less<>> words;
  for (size_t open = text.find('"'); open != std::string::npos;) {
    const size_t close = text.find('"', open + 1);
    if (close == std::string::npos) break;
    words.insert(text.substr(open + 1, close - open - 1));
    open = text.find('"', close + 1);
  }
  return words;
}

template <typename Number>
std::optional<Number> NumberOf(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  Number number = 0;
  if (!(stream >> number) || stream.peek() != std::istringstream::traits_type::eof()) {
    return std::nullopt;
  }
  return number;
}

// `type_and_value`: "Final[int] = 4". Constants of other types are left out.
void AddConstant(const std::string& name, const std::string& type_and_value,
                 ScriptClass* script_class) {
  const auto value_after = [&](const std::string& type) -> std::optional<std::string> {
    if (!StartsWith(type_and_value, type)) return std::nullopt;
    return type_and_value.substr(type.size());
  };
  if (const auto value = value_after("Final[bool] = ")) {
    if (*value == "True" || *value == "False") script_class->constants[name] = *value == "True";
  } else if (const auto integer = value_after("Final[int] = ")) {
    if (const auto number = NumberOf<int64_t>(*integer)) script_class->constants[name] = *number;
  } else if (const auto real = value_after("Final[float] = ")) {
    if (const auto number = NumberOf<double>(*real)) script_class->constants[name] = *number;
  }
}

// One line within a class: what the lists of names say, `weight : Tensor`, or the same of a name
// that is no identifier, `__annotations__["0"] = Tensor`.
void AddDeclaration(const std::string& line, ScriptClass* script_class) {
  const std::string parameters = "__parameters__ = ";
  const std::string buffers = "__buffers__ = ";
  const std::string annotation = "__annotations__[\"";
  const std::string annotated = "\"] = ";
  const std::string separator = " : ";
  if (StartsWith(line, parameters)) {
    script_class->parameters = QuotedWords(line);
  } else if (StartsWith(line, buffers)) {
    script_class->buffers = QuotedWords(line);
  } else if (StartsWith(line, annotation)) {
    const size_t end = line.find(annotated, annotation.size());
    if (end == std::string::npos || line.substr(end + annotated.size()) != "Tensor") return;
    script_class->tensors.insert(line.substr(annotation.size(), end - annotation.size()));
  } else if (const size_t end = line.find(separator); end != std::string::npos) {
    const std::string name = line.substr(0, end);
    const std::string type = line.substr(end + separator.size());
    if (type == "Tensor") script_class->tensors.insert(name);
    AddConstant(name, type, script_class);
  }
}

}  // namespace

bool IsParameterOrBuffer(const ScriptClass& declared, std::string_view name) {
  if (declared.parameters.count(name) > 0) return true;
  if (declared.tensors.count(name) == 0) return false;
  return !declared.buffers.has_value() || declared.buffers->count(name) > 0;
}

void ReadScriptClasses(const std::string& source, const std::string& prefix,
                       ScriptClasses* classes) {
  const std::string class_word = "class ";
  std::istringstream lines(source);
  ScriptClass* current = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (StartsWith(line, class_word)) {
      const std::string name =
          line.substr(class_word.size(), line.find_first_of("(:") - class_word.size());
      const auto [added, is_new] = classes->emplace(prefix + name, ScriptClass());
      if (!is_new) throw std::runtime_error("declares the class " + PrintableName(name) + " twice");
      current = &added->second;
      current->is_module = EndsWith(line, "(Module):");
    } else if (current != nullptr && StartsWith(line, kIndent)) {
      if (StartsWith(line, "  def ")) {
        current = nullptr;  // the methods come last
      } else {
        AddDeclaration(line.substr(sizeof(kIndent) - 1), current);
      }
    }
  }
}

}  // namespace runnel
