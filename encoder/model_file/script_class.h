// The classes that the source text of a TorchScript archive declares.
#ifndef RUNNEL_ENCODER_MODEL_FILE_SCRIPT_CLASS_H_
#define RUNNEL_ENCODER_MODEL_FILE_SCRIPT_CLASS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace runnel {

// The head of a class. Its methods are not read.
struct ScriptClass {
  bool is_module = false;
  std::set<std::string, std::less<>> parameters;
  std::set<std::string, std::less<>> tensors;  // attributes of type Tensor
  // Names of buffers. Older versions of PyTorch did not list them.
  std::optional<std::set<std::string, std::less<>>> buffers;
  // `name : Final[int] = 4`
  std::map<std::string, std::variant<bool, int64_t, double>, std::less<>> constants;
};

// Whether an attribute that is a tensor belongs to the weights of a module. LibTorch finds no
// buffers in classes that do not list them; for PyTorch of their time, every tensor was one.
bool IsParameterOrBuffer(const ScriptClass& declared, std::string_view name);

// By full name: "__torch__.torch.nn.modules.linear.Linear".
using ScriptClasses = std::map<std::string, ScriptClass>;

// Adds the classes of one source file. `prefix`: "__torch__.torch.nn.modules.linear." Throws
// std::runtime_error for a class that is declared twice.
void ReadScriptClasses(const std::string& source, const std::string& prefix,
                       ScriptClasses* classes);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_SCRIPT_CLASS_H_
