// The module of a TorchScript archive: source text of classes, a zero byte, the pickle of the
// objects. Storages have as many bytes as the pickle says, if these are few.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "encoder/model_file/pickle_reader.h"
#include "encoder/model_file/script_archive.h"
#include "encoder/model_file/script_class.h"
#include "encoder/model_file/tensor.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"

namespace runnel {
namespace {

constexpr int64_t kMostStorageBytes = 1 << 16;

std::shared_ptr<const void> ReadZeros(std::string_view /*key*/, int64_t num_bytes) {
  if (num_bytes > kMostStorageBytes) throw std::runtime_error("a storage that is not there");
  std::shared_ptr<void> memory = NewMemory(num_bytes);
  std::memset(memory.get(), 0, static_cast<size_t>(num_bytes));
  return memory;
}

void Use(const ScriptArchive& archive) {
  // Dequantised values are 0 only where their zero point is.
  const bool has_storage_values = !archive.HasPackedLinear();
  for (const auto& [name, tensor] : archive.Tensors()) {
    if (!has_storage_values) continue;
    const auto* bytes = static_cast<const uint8_t*>(tensor.data());
    fuzz::Require(std::all_of(bytes, bytes + std::min(tensor.num_bytes(), kMostStorageBytes),
                              [](uint8_t byte) { return byte == 0; }),
                  "a tensor has the values of its storage");
  }
  for (const auto& [prefix, module] : archive.Modules()) {
    module.Child("encoder");
    module.Get<double>("eps");
    module.TensorNamed("weight");
  }
}

}  // namespace
}  // namespace runnel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace runnel;  // NOLINT: this function only
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), input.size());
  const fuzz::WorkBound bound;
  try {
    ScriptClasses classes;
    ReadScriptClasses(input.substr(0, end), "__torch__.", &classes);
    Use({ReadPickle(input.substr(std::min(end + 1, size)), ReadZeros), std::move(classes)});
  } catch (const std::runtime_error&) {
  }
  // A small file may have modules in modules that only the limit of the walk ends.
  constexpr double kWalk_s = 1;
  if (bound.Holds(kWalk_s + 1e-5 * static_cast<double>(size))) return 0;
  return fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
