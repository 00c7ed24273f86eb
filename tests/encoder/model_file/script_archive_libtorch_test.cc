// The reader of TorchScript archives gives what LibTorch gives, to the bit.
#include <ATen/TensorOperators.h>
#include <ATen/native/quantized/PackedParams.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/model_file/script_archive.h"
#include "encoder/model_file/zip_file.h"
#include "tests/support/archive_files.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

DataType TypeOf(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DataType::kBool;
    case at::kByte:
      return DataType::kUint8;
    case at::kChar:
      return DataType::kInt8;
    case at::kShort:
      return DataType::kInt16;
    case at::kInt:
      return DataType::kInt32;
    case at::kLong:
      return DataType::kInt64;
    case at::kHalf:
      return DataType::kFloat16;
    case at::kBFloat16:
      return DataType::kBfloat16;
    case at::kFloat:
      return DataType::kFloat32;
    case at::kDouble:
      return DataType::kFloat64;
    default:
      throw std::invalid_argument("a type that Runnel does not have");
  }
}

std::map<std::string, at::Tensor> ReadWithLibTorch(const std::string& path) {
  const torch::jit::Module module = torch::jit::load(path, c10::Device(c10::kCPU));
  std::map<std::string, at::Tensor> tensors;
  for (const auto& named : module.named_parameters()) tensors[named.name] = named.value;
  for (const auto& named : module.named_buffers()) tensors[named.name] = named.value;
  for (const auto& named : module.named_modules()) {  // of a quantised layer: its packed weights
    if (!named.value.hasattr("_packed_params")) continue;
    const c10::IValue packed = named.value.attr("_packed_params");
    if (!packed.isCustomClass()) continue;
    const auto [weight, bias] = packed.toCustomClass<LinearPackedParamsBase>()->unpack();
    const std::string layer = named.name.substr(0, named.name.rfind('.') + 1);
    tensors[layer + "weight"] = weight.dequantize();
    if (bias) tensors[layer + "bias"] = *bias;
  }
  return tensors;
}

// How many tensors the file has.
size_t ExpectSame(const std::string& path) {
  SCOPED_TRACE(path);
  ZipFile zip(path);
  const std::map<std::string, Tensor> read = ScriptArchive(&zip).Tensors();
  const std::map<std::string, at::Tensor> expected = ReadWithLibTorch(path);
  EXPECT_EQ(read.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    SCOPED_TRACE(name);
    const auto found = read.find(name);
    if (found == read.end()) {
      ADD_FAILURE() << "is missing";
      continue;
    }
    const at::Tensor values = tensor.detach().contiguous();
    EXPECT_EQ(found->second.type(), TypeOf(values.scalar_type()));
    EXPECT_EQ(found->second.shape(), values.sizes().vec());
    if (static_cast<size_t>(found->second.num_bytes()) != values.nbytes()) {
      ADD_FAILURE() << found->second.num_bytes() << " bytes";
      continue;
    }
    if (values.nbytes() == 0) continue;
    EXPECT_EQ(std::memcmp(found->second.data(), values.data_ptr(), values.nbytes()), 0);
  }
  return expected.size();
}

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> paths;
  if (!std::filesystem::exists(folder)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".pt" || entry.path().extension() == ".zip") {
      paths.push_back(path);
    }
  }
  return paths;
}

// Folders of checkpoints have files of torch.save, which hold no module.
bool IsTorchScript(const std::string& path) {
  for (const std::string& name : ZipFile(path).EntryNames()) {
    if (name.find("/constants.pkl") != std::string::npos) return true;
  }
  return false;
}

TEST(ScriptArchiveLibTorchTest, AllModelsOfTheRepository) {
  int num_files = 0;
  for (const char* folder : {"/models", "/tests/golden"}) {
    for (const std::string& path : FilesBelow(RUNNEL_SOURCE_DIR + std::string(folder))) {
      if (!IsTorchScript(path)) continue;
      EXPECT_GT(ExpectSame(path), 0U);
      ++num_files;
    }
  }
  EXPECT_GT(num_files, 20);
}

TEST(ScriptArchiveLibTorchTest, AllModelsOfTheSharedData) {
  int num_files = 0;
  for (const std::string& path : FilesBelow(SharedData(""))) {
    try {
      if (!IsTorchScript(path)) continue;
    } catch (const std::runtime_error&) {
      continue;  // a checkpoint in the format before zip files
    }
    ExpectSame(path);
    ++num_files;
  }
  std::cout << num_files << " files\n";
}

torch::jit::Module MakeModule(const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  return {"__torch__.Tensors", unit, /*shouldMangle=*/true};
}

TEST(ScriptArchiveLibTorchTest, LayoutsAndTypes) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module = MakeModule(unit);
  const at::Tensor matrix = at::randn({4, 6}, at::kFloat);
  module.register_parameter("whole", matrix, /*is_buffer=*/false);
  module.register_parameter("row", matrix[2], /*is_buffer=*/true);
  module.register_parameter("columns", matrix.narrow(1, 1, 3), /*is_buffer=*/true);
  module.register_parameter("transposed", matrix.t(), /*is_buffer=*/true);
  module.register_parameter("permuted", at::randn({2, 3, 4, 5}).permute({3, 1, 0, 2}), true);
  module.register_parameter("repeated", at::randn({3, 1}).expand({3, 2}), /*is_buffer=*/true);
  module.register_parameter("scalar", at::randn({}), /*is_buffer=*/true);
  module.register_parameter("empty", at::randn({0, 3}), /*is_buffer=*/true);
  torch::jit::Module inner = MakeModule(unit);
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong,
                                    at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const at::Tensor values = at::arange(12, at::kFloat).view({3, 4}).to(type);
    inner.register_parameter(std::string("of_") + c10::toString(type), values, /*is_buffer=*/true);
    inner.register_parameter(std::string("t_") + c10::toString(type), values.t(), true);
  }
  inner.register_parameter("of_bool", at::arange(5).gt(2), /*is_buffer=*/true);
  inner.register_attribute("number", c10::IntType::get(), 3);
  inner.register_attribute("numbers", c10::ListType::ofInts(),
                           std::vector<int64_t>{1, 300, 1 << 20});
  inner.register_attribute("text", c10::StringType::get(), std::string("text"));
  inner.register_attribute("plain", c10::TensorType::get(), matrix);
  inner.register_attribute("optional", c10::OptionalType::create(c10::TensorType::get()), matrix);
  module.register_module("inner", inner);
  module.register_module("again", inner);
  const testing::TemporaryFolder folder;
  module.save(folder.File("m.pt"));
  EXPECT_EQ(ExpectSame(folder.File("m.pt")), 8U + 2 * 19);
}

TEST(ScriptArchiveLibTorchTest, LibTorchReadsWhatWriteArchiveWrites) {
  const testing::TemporaryFolder folder;
  std::map<std::string, Tensor> tensors = testing::TinyGoldens();
  tensors.emplace("inner.0.weight", Zeros(DataType::kBfloat16, {2, 3}));
  tensors.emplace("inner.1.weight", Zeros(DataType::kBool, {}));
  tensors.emplace("inner.1.empty", Zeros(DataType::kInt8, {0, 4}));
  testing::WriteArchive(folder.File("m.pt"), tensors, {{"units.txt", "units"}});
  EXPECT_EQ(ExpectSame(folder.File("m.pt")), tensors.size());
  torch::jit::ExtraFilesMap extra{{"units.txt", ""}};
  torch::jit::load(folder.File("m.pt"), c10::Device(c10::kCPU), extra);
  EXPECT_EQ(extra["units.txt"], "units");
}

}  // namespace
}  // namespace runnel
