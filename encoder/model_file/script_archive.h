// Reads the module of a TorchScript archive (torch.jit.save) without LibTorch.
#ifndef RUNNEL_ENCODER_MODEL_FILE_SCRIPT_ARCHIVE_H_
#define RUNNEL_ENCODER_MODEL_FILE_SCRIPT_ARCHIVE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "encoder/model_file/script_class.h"
#include "encoder/model_file/script_value.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/zip_file.h"

namespace runnel {

// A module of an archive: an object and the declaration of its class. The archive must outlive it.
class ScriptModule {
 public:
  ScriptModule(const ScriptObject* object, const ScriptClasses* classes);

  // Without the Python module and what TorchScript adds to make it unique: "Linear".
  std::string ClassName() const { return std::string(object_->class_name->name); }
  // An attribute or a constant of the class.
  bool Has(std::string_view name) const;
  // None without an attribute of this name that is a module.
  std::optional<ScriptModule> Child(std::string_view name) const;
  // Null without an attribute of this name that is a tensor.
  const Tensor* TensorNamed(std::string_view name) const;
  // An attribute or a constant of the class, of type bool, int64_t or double; none without one.
  template <typename Kind>
  std::optional<Kind> Get(std::string_view name) const {
    if (const ScriptValue* value = Find(name)) {
      const Kind* found = value->As<Kind>();
      return found == nullptr ? std::nullopt : std::optional<Kind>(*found);
    }
    const auto constant = declared_->constants.find(name);
    if (constant == declared_->constants.end()) return std::nullopt;
    const Kind* found = std::get_if<Kind>(&constant->second);
    return found == nullptr ? std::nullopt : std::optional<Kind>(*found);
  }

  const ScriptObject& object() const { return *object_; }
  const ScriptClass& declared() const { return *declared_; }

 private:
  const ScriptValue* Find(std::string_view name) const;  // null without it

  const ScriptObject* object_;
  const ScriptClass* declared_;
  const ScriptClasses* classes_;
};

struct NamedScriptModule {
  std::string prefix;  // of the names in it: "" or "encoder.embed."
  ScriptModule module;
};

// Every method throws std::runtime_error that says what is wrong, without the path.
class ScriptArchive {
 public:
  // Reads the classes, the objects, the tensors and the files beside them; nothing twice.
  explicit ScriptArchive(ZipFile* zip);
  ScriptArchive(ScriptPickle pickle, ScriptClasses classes);

  ScriptModule Root() const { return {root_, &classes_}; }
  // The root and all modules in it, each before those in it. A module that two others hold is there
  // twice.
  std::vector<NamedScriptModule> Modules() const;
  // Parameters and buffers of all modules by qualified name: "encoder.after_norm.weight". The int8
  // weights of PyTorch's quantised linear layers are among them, dequantised to float32.
  std::map<std::string, Tensor> Tensors() const;
  // Whether Tensors() holds dequantised weights.
  bool HasPackedLinear() const;
  // Texts beside the module: "runnel.json".
  const std::map<std::string, std::string>& extra_files() const { return extra_files_; }

 private:
  ScriptPickle pickle_;
  ScriptClasses classes_;
  std::map<std::string, std::string> extra_files_;
  const ScriptObject* root_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_SCRIPT_ARCHIVE_H_
