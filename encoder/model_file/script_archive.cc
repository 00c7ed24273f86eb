#include "encoder/model_file/script_archive.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/packed_linear.h"
#include "encoder/model_file/pickle_reader.h"
#include "encoder/model_file/printable_name.h"

namespace runnel {
namespace {

// Far more than the names of a model have together. A malicious file has modules that hold each
// other, or that hold one other twice, which holds one twice: the walk through it would not end.
constexpr size_t kMostNameBytes = size_t{1} << 24;
constexpr size_t kBytesPerName = 32;

// The entries of a TorchScript archive by name, without the folder that holds them all. That is the
// folder of data.pkl; an archive that was packed again may have any name for it, or none.
using Entries = std::map<std::string, uint64_t>;

Entries EntriesOf(const ZipFile& zip) {
  const std::string objects = "data.pkl";
  std::vector<std::string> folders;
  for (const std::string& name : zip.EntryNames()) {
    const std::string folder = name.substr(0, name.find('/') + 1);
    if (name == folder + objects) folders.push_back(folder);
  }
  if (folders.size() != 1) {
    throw std::runtime_error("holds " + std::to_string(folders.size()) +
                             " files data.pkl, expected one");
  }
  const std::string& folder = folders.front();
  Entries entries;
  for (uint64_t i = 0; i < zip.num_entries(); ++i) {
    const std::string name = zip.Entry(i).name;
    if (StartsWith(name, folder)) entries[name.substr(folder.size())] = i;
  }
  return entries;
}

uint64_t Find(const Entries& entries, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) throw std::runtime_error("holds no " + PrintableName(name));
  return found->second;
}

ScriptClasses ReadClasses(const Entries& entries, ZipFile* zip) {
  const std::string folder = "code/";
  const std::string ending = ".py";
  ScriptClasses classes;
  for (const auto& [name, index] : entries) {
    if (!StartsWith(name, folder) || !EndsWith(name, ending)) continue;
    std::string prefix =
        name.substr(folder.size(), name.size() - folder.size() - ending.size()) + ".";
    std::replace(prefix.begin(), prefix.end(), '/', '.');
    ReadScriptClasses(zip->ReadText(index), prefix, &classes);
  }
  return classes;
}

ScriptPickle ReadObjects(const Entries& entries, ZipFile* zip) {
  const auto byte_order = entries.find("byteorder");  // from PyTorch 2.1 on
  if (byte_order != entries.end() && zip->ReadText(byte_order->second) != "little") {
    throw std::runtime_error("has another order of bytes, expected the lowest first");
  }
  const auto read_storage = [&](std::string_view key, int64_t num_bytes) {
    const uint64_t index = Find(entries, "data/" + std::string(key));
    const uint64_t size = zip->Entry(index).size;
    if (size != static_cast<uint64_t>(num_bytes)) {
      throw std::runtime_error("data/" + PrintableName(key) + " has " + std::to_string(size) +
                               " bytes, expected " + std::to_string(num_bytes));
    }
    std::shared_ptr<void> memory = NewMemory(num_bytes);
    zip->ReadInto(index, memory.get(), size);
    return std::shared_ptr<const void>(std::move(memory));
  };
  return ReadPickle(zip->ReadText(Find(entries, "data.pkl")), read_storage);
}

// The declaration of an object's class. Those of PyTorch's own C++ classes, such as packed weights,
// have none and are no modules.
const ScriptClass& ClassOf(const ScriptObject& object, const ScriptClasses& classes) {
  static const ScriptClass without_source;
  const auto found = classes.find(object.class_name->Full());
  if (found != classes.end()) return found->second;
  if (object.class_name->module.find("__torch__.torch.classes") != 0) {
    FailPickle("has an object of class " + PrintableName(object.class_name->Full()) +
               ", which the code does not declare");
  }
  return without_source;
}

}  // namespace

ScriptModule::ScriptModule(const ScriptObject* object, const ScriptClasses* classes)
    : object_(object), declared_(&ClassOf(*object, *classes)), classes_(classes) {}

const ScriptValue* ScriptModule::Find(std::string_view name) const {
  const auto found = object_->attributes.find(name);
  return found == object_->attributes.end() ? nullptr : &found->second;
}

bool ScriptModule::Has(std::string_view name) const {
  return Find(name) != nullptr || declared_->constants.find(name) != declared_->constants.end();
}

std::optional<ScriptModule> ScriptModule::Child(std::string_view name) const {
  const ScriptValue* value = Find(name);
  const auto* object = value == nullptr ? nullptr : value->As<ScriptObject>();
  if (object == nullptr || !ClassOf(*object, *classes_).is_module) return std::nullopt;
  return ScriptModule(object, classes_);
}

const Tensor* ScriptModule::TensorNamed(std::string_view name) const {
  const ScriptValue* value = Find(name);
  return value == nullptr ? nullptr : value->As<Tensor>();
}

ScriptArchive::ScriptArchive(ScriptPickle pickle, ScriptClasses classes)
    : pickle_(std::move(pickle)),
      classes_(std::move(classes)),
      root_(pickle_.root.As<ScriptObject>()) {
  if (root_ == nullptr || !ClassOf(*root_, classes_).is_module) {
    FailPickle("holds no module, expected one of torch.jit.save");
  }
}

ScriptArchive::ScriptArchive(ZipFile* zip)
    : ScriptArchive(ReadObjects(EntriesOf(*zip), zip), ReadClasses(EntriesOf(*zip), zip)) {
  const std::string folder = "extra/";
  for (const auto& [name, index] : EntriesOf(*zip)) {
    if (StartsWith(name, folder)) extra_files_[name.substr(folder.size())] = zip->ReadText(index);
  }
}

std::vector<NamedScriptModule> ScriptArchive::Modules() const {
  std::vector<NamedScriptModule> modules;
  std::vector<NamedScriptModule> waiting = {{"", Root()}};
  size_t name_bytes = 0;
  while (!waiting.empty()) {
    modules.push_back(std::move(waiting.back()));
    waiting.pop_back();
    const NamedScriptModule& named = modules.back();
    for (const auto& [name, value] : named.module.object().attributes) {
      name_bytes += named.prefix.size() + name.size() + kBytesPerName;
      if (name_bytes > kMostNameBytes) {
        FailPickle("has modules that hold each other, or more of them than any model");
      }
      if (const auto child = named.module.Child(name)) {
        waiting.push_back({named.prefix + std::string(name) + ".", *child});
      }
    }
  }
  return modules;
}

bool ScriptArchive::HasPackedLinear() const {
  const std::vector<NamedScriptModule> modules = Modules();
  return std::any_of(modules.begin(), modules.end(), [](const NamedScriptModule& named) {
    return IsPackedLinear(named.module.object());
  });
}

std::map<std::string, Tensor> ScriptArchive::Tensors() const {
  std::map<std::string, Tensor> tensors;
  for (const auto& [prefix, module] : Modules()) {
    const ScriptClass& declared = module.declared();
    if (const auto linear = PackedLinear(module.object())) {
      // "encoder.embed.out.0._packed_params." is the part of a layer that holds its weights.
      const std::string layer = prefix.substr(0, prefix.rfind('.', prefix.size() - 2) + 1);
      tensors.emplace(layer + "weight", linear->weight);
      if (linear->bias.defined()) tensors.emplace(layer + "bias", linear->bias);
      continue;
    }
    if (module.object().is_opaque) {
      FailPickle("has a module of class " + PrintableName(module.ClassName()) +
                 " that needs its code, which is not executed");
    }
    for (const auto& [name, value] : module.object().attributes) {
      if (!IsParameterOrBuffer(declared, name)) continue;
      const std::string qualified = prefix + std::string(name);
      if (const auto* tensor = value.As<Tensor>()) {
        if (!tensors.emplace(qualified, *tensor).second) {
          FailPickle("has two tensors " + PrintableName(qualified));
        }
      } else if (const auto* unread = value.As<ScriptUnreadTensor>()) {
        FailPickle("has " + PrintableName(qualified) + " in " + unread->reason->Full() +
                   ", which is not supported");
      } else if (value.As<ScriptQuantizedTensor>() != nullptr) {
        FailPickle("has " + PrintableName(qualified) +
                   " quantised to int8 outside a linear layer, which is not supported");
      }
    }
  }
  return tensors;
}

}  // namespace runnel
