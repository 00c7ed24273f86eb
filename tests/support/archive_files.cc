#include "tests/support/archive_files.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <vector>

#include "encoder/model_file/script_archive.h"
#include "encoder/model_file/zip_file.h"
#include "tests/support/file_bytes.h"
#include "tests/support/pickle_writer.h"
#include "tests/support/zip_writer.h"

namespace runnel::testing {
namespace {

// What lies below one dotted prefix.
struct Folder {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Folder> folders;
};

void Insert(Folder* folder, const std::string& name, const Tensor& tensor) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) {
    folder->tensors[name] = tensor;
  } else {
    Insert(&folder->folders[name.substr(0, dot)], name.substr(dot + 1), tensor);
  }
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
         });
}

std::string Declaration(const std::string& name, const std::string& type) {
  return IsIdentifier(name) ? "  " + name + " : " + type + "\n"
                            : "  __annotations__[\"" + name + "\"] = " + type + "\n";
}

// The parts of an archive that depend on the tensors. Each folder is a module of its own class.
class Writer {
 public:
  // The operations that make the module.
  std::string Module(const Folder& folder) {
    const std::string class_name = "Tensors_" + std::to_string(num_classes_++);
    std::string buffers;
    std::string declarations;
    std::string attributes;
    for (const auto& [name, tensor] : folder.tensors) {
      buffers += "\"" + name + "\", ";
      declarations += Declaration(name, "Tensor");
      attributes += pickle::Text(name) + Stored(tensor);
    }
    for (const auto& [name, inner] : folder.folders) {
      const std::string inner_class = "__torch__.Tensors_" + std::to_string(num_classes_);
      declarations += Declaration(name, inner_class);
      attributes += pickle::Text(name) + Module(inner);
    }
    code_ += "class " + class_name + "(Module):\n  __parameters__ = []\n  __buffers__ = [" +
             buffers + "]\n  __annotations__ = []\n" + declarations;
    return pickle::Object(class_name, attributes);
  }

  const std::string& code() const { return code_; }
  const std::vector<std::string>& storages() const { return storages_; }

 private:
  std::string Stored(const Tensor& tensor) {
    if (!tensor.has_values()) throw std::invalid_argument("a tensor without values");
    const std::string key = std::to_string(storages_.size());
    storages_.emplace_back(static_cast<const char*>(tensor.data()),
                           static_cast<size_t>(tensor.num_bytes()));
    return pickle::StoredTensor(
        pickle::Storage(pickle::StorageClass(tensor.type()), key, tensor.count()), 0,
        tensor.shape(), pickle::ContiguousStrides(tensor.shape()));
  }

  int num_classes_ = 0;
  std::string code_;
  std::vector<std::string> storages_;
};

}  // namespace

std::map<std::string, Tensor> Goldens(const std::string& file) {
  ZipFile zip(RUNNEL_SOURCE_DIR "/tests/golden/" + file);
  return ScriptArchive(&zip).Tensors();
}

void WriteArchive(const std::string& path, const std::map<std::string, Tensor>& tensors,
                  const std::map<std::string, std::string>& extra_files) {
  Folder root;
  for (const auto& [name, tensor] : tensors) Insert(&root, name, tensor);
  Writer writer;
  const std::string objects = pickle::Whole(writer.Module(root));
  ZipEntries entries;
  for (const auto& [name, text] : extra_files) entries.emplace_back("archive/extra/" + name, text);
  entries.emplace_back("archive/data.pkl", objects);
  entries.emplace_back("archive/code/__torch__.py", writer.code());
  for (size_t i = 0; i < writer.storages().size(); ++i) {
    entries.emplace_back("archive/data/" + std::to_string(i), writer.storages()[i]);
  }
  entries.emplace_back("archive/constants.pkl", pickle::Whole(")"));
  entries.emplace_back("archive/version", "3\n");
  WriteBytes(path, ZipBytes(entries));
}

}  // namespace runnel::testing
