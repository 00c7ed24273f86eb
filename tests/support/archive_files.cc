#include "tests/support/archive_files.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <memory>
#include <utility>

namespace runnel::testing {
namespace {

// What lies below one dotted prefix.
struct Folder {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, Folder> folders;
};

void Insert(Folder* folder, const std::string& name, const at::Tensor& tensor) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) {
    folder->tensors[name] = tensor;
  } else {
    Insert(&folder->folders[name.substr(0, dot)], name.substr(dot + 1), tensor);
  }
}

torch::jit::Module ToModule(const Folder& folder,
                            const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module module("__torch__.Tensors", unit, /*shouldMangle=*/true);
  for (const auto& [name, tensor] : folder.tensors) {
    module.register_parameter(name, tensor, /*is_buffer=*/true);
  }
  for (const auto& [name, inner] : folder.folders) {
    module.register_module(name, ToModule(inner, unit));
  }
  return module;
}

}  // namespace

std::map<std::string, at::Tensor> Goldens(const std::string& file) {
  const torch::jit::Module module = torch::jit::load(RUNNEL_SOURCE_DIR "/tests/golden/" + file);
  std::map<std::string, at::Tensor> values;
  for (const auto& named : module.named_buffers()) values[named.name] = named.value;
  return values;
}

void WriteArchive(const std::string& path, const std::map<std::string, at::Tensor>& tensors,
                  const std::map<std::string, std::string>& extra_files) {
  Folder root;
  for (const auto& [name, tensor] : tensors) Insert(&root, name, tensor);
  const torch::jit::ExtraFilesMap extra(extra_files.begin(), extra_files.end());
  ToModule(root, std::make_shared<torch::jit::CompilationUnit>()).save(path, extra);
}

}  // namespace runnel::testing
