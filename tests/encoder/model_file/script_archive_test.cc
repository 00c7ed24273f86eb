// Modules of TorchScript archives: what is a tensor of a model, layouts, and files that are
// refused.
#include "encoder/model_file/script_archive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/model_file/pickle_reader.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/little_endian.h"
#include "tests/support/pickle_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zip_writer.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::LittleEndian;
using testing::TemporaryFolder;
using testing::ZipBytes;
using testing::ZipEntries;
using testing::pickle::Object;
using testing::pickle::Storage;
using testing::pickle::StoredTensor;
using testing::pickle::Text;
using testing::pickle::Whole;

ScriptArchive Archive(const std::string& objects, const std::string& code) {
  ScriptClasses classes;
  ReadScriptClasses(code, "__torch__.", &classes);
  return {ReadPickle(Whole(objects),
                     [](std::string_view /*key*/, int64_t num_bytes) -> std::shared_ptr<void> {
                       std::shared_ptr<void> memory = NewMemory(num_bytes);
                       std::memset(memory.get(), 0, static_cast<size_t>(num_bytes));
                       return memory;
                     }),
          std::move(classes)};
}

std::string TensorOf(int64_t size) {
  return StoredTensor(Storage("FloatStorage", std::to_string(size), size), 0, {size}, {1});
}

std::vector<std::string> NamesOf(const std::map<std::string, Tensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TEST(ScriptArchiveTest, ParametersAndBuffers) {
  const ScriptArchive archive =
      Archive(Object("A", Text("weight") + TensorOf(1) + Text("optional") + TensorOf(2) +
                              Text("parameter") + TensorOf(3) + Text("attribute") + TensorOf(4) +
                              Text("buffer") + TensorOf(7) + Text("nothing") + "N" + Text("part") +
                              Object("B", Text("0") + TensorOf(5)) + Text("data") +
                              Object("C", Text("tensor") + TensorOf(6))),
              "class A(Module):\n"
              "  __parameters__ = [\"weight\", \"parameter\", \"nothing\", ]\n"
              "  __buffers__ = [\"buffer\", \"optional\", ]\n  buffer : Tensor\n"
              "  weight : Tensor\n  optional : Optional[Tensor]\n  parameter : Optional[Tensor]\n"
              "  attribute : Tensor\n  nothing : Optional[Tensor]\n  part : __torch__.B\n"
              "  data : __torch__.C\n"
              "class B(Module):\n  __annotations__[\"0\"] = Tensor\n"
              "class C:\n  tensor : Tensor\n");
  EXPECT_EQ(NamesOf(archive.Tensors()),
            (std::vector<std::string>{"buffer", "parameter", "part.0", "weight"}));
}

TEST(ScriptArchiveTest, AttributesAndConstants) {
  const ScriptArchive archive = Archive(
      Object("A", Text("heads") + "K\4" + Text("part") + Object("B", "") + Text("data") +
                      Object("C", "") + Text("weight") + TensorOf(2)),
      "class A(Module):\n  heads : int\n  eps : Final[float] = 0.5\n  on : Final[bool] = True\n"
      "class B(Module):\nclass C:\n");
  const ScriptModule root = archive.Root();
  EXPECT_EQ(root.ClassName(), "A");
  EXPECT_EQ(root.Get<int64_t>("heads"), 4);
  EXPECT_EQ(root.Get<double>("eps"), 0.5);
  EXPECT_EQ(root.Get<bool>("on"), true);
  EXPECT_EQ(root.Get<bool>("heads"), std::nullopt);
  EXPECT_EQ(root.Get<int64_t>("eps"), std::nullopt);
  EXPECT_EQ(root.Get<int64_t>("none"), std::nullopt);
  EXPECT_TRUE(root.Has("eps"));
  EXPECT_FALSE(root.Has("none"));
  EXPECT_EQ(root.Child("part")->ClassName(), "B");
  EXPECT_FALSE(root.Child("data").has_value());
  EXPECT_FALSE(root.Child("heads").has_value());
  EXPECT_EQ(root.TensorNamed("weight")->count(), 2);
  EXPECT_EQ(root.TensorNamed("heads"), nullptr);
}

TEST(ScriptArchiveTest, WhatHoldsNoModule) {
  const auto refusal = [](const std::string& objects, const std::string& code) {
    return ErrorMessage<std::runtime_error>([&] { Archive(objects, code).Tensors(); });
  };
  EXPECT_EQ(refusal("N", ""), "data.pkl holds no module, expected one of torch.jit.save");
  EXPECT_EQ(refusal(Object("A", ""), "class A:\n"),
            "data.pkl holds no module, expected one of torch.jit.save");
  EXPECT_EQ(refusal(Object("A", ""), ""),
            "data.pkl has an object of class __torch__.A, which the code does not declare");
  const std::string opaque = testing::pickle::Name("__torch__", "A") + ")\x81)b";
  EXPECT_EQ(refusal(opaque, "class A(Module):\n"),
            "data.pkl has a module of class A that needs its code, which is not executed");
  const std::string complex = StoredTensor(Storage("ComplexFloatStorage", "0", 4), 0, {4}, {1});
  EXPECT_EQ(refusal(Object("A", Text("w") + complex), "class A(Module):\n  w : Tensor\n"),
            "data.pkl has w in torch.ComplexFloatStorage, which is not supported");
  EXPECT_EQ(refusal(Object("A", Text("a.b") + TensorOf(1) + Text("a") +
                                    Object("B", Text("b") + TensorOf(2))),
                    "class A(Module):\n  __parameters__ = [\"a.b\"]\n"
                    "class B(Module):\n  b : Tensor\n"),
            "data.pkl has two tensors a.b");
}

// A quantised linear layer as PyTorch 1.13 writes it, and as older versions do.
TEST(ScriptArchiveTest, PackedLinearLayers) {
  const auto weight = [](const Shape& shape) {
    return testing::pickle::Call(
        "torch._utils", "_rebuild_qtensor",
        Storage("QInt8Storage", "0", 6) + testing::pickle::Integer(0) +
            testing::pickle::Sizes(shape) +
            testing::pickle::Sizes(shape.size() == 2 ? Shape{2, 1} : Shape{1}) +
            testing::pickle::Tuple(testing::pickle::Name("torch", "per_tensor_affine") +
                                   std::string("G\x3f\xe0\0\0\0\0\0\0", 9) +
                                   testing::pickle::Integer(0)) +
            "\x89N");
  };
  const auto built = [](const std::string& module, const std::string& name,
                        const std::string& state) {
    return testing::pickle::Name(module, name) + ")\x81" + state + "b";
  };
  const auto in_object = [&](const std::string& state) {
    return Object(
        "A",
        Text("out") + Object("Linear", Text("_packed_params") +
                                           Object("LinearPackedParams",
                                                  Text("_packed_params") +
                                                      built("__torch__.torch.classes.quantized",
                                                            "LinearPackedParamsBase", state))));
  };
  const auto in_module = [&](const std::string& state) {
    return Object(
        "A", Text("out") + Object("Linear", Text("_packed_params") +
                                                built("__torch__", "LinearPackedParams", state)));
  };
  const std::string code =
      "class A(Module):\nclass Linear(Module):\nclass LinearPackedParams(Module):\n";
  using testing::pickle::Tuple;
  for (const std::string& objects : {in_object(Tuple(weight({3, 2}) + TensorOf(3))),
                                     in_module(Tuple(weight({3, 2}) + TensorOf(3) + "\x88K\1"))}) {
    const ScriptArchive archive = Archive(objects, code);
    EXPECT_TRUE(archive.HasPackedLinear());
    EXPECT_EQ(NamesOf(archive.Tensors()), (std::vector<std::string>{"out.bias", "out.weight"}));
    EXPECT_EQ(archive.Tensors().at("out.weight").shape(), (Shape{3, 2}));
    EXPECT_EQ(archive.Tensors().at("out.weight").type(), DataType::kFloat32);
  }
  EXPECT_EQ(NamesOf(Archive(in_object(Tuple(weight({3, 2}) + "N")), code).Tensors()),
            std::vector<std::string>{"out.weight"});
  const std::string no_weight =
      "data.pkl has a quantised linear layer without an int8 weight of 2 dimensions";
  for (const std::string& state : {Tuple(""), Tuple(TensorOf(3) + "N"), Tuple(weight({3}) + "N"),
                                   Tuple(weight({3, 2})), std::string("N"), std::string("K\1")}) {
    for (const std::string& objects : {in_object(state), in_module(state)}) {
      EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Archive(objects, code).Tensors(); }),
                no_weight);
    }
  }
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] {
              Archive(in_object(Tuple(weight({3, 2}) + "K\1")), code).Tensors();
            }),
            "data.pkl has a quantised linear layer whose bias is not a tensor");
  const ScriptArchive outside =
      Archive(Object("A", Text("w") + weight({3, 2})), "class A(Module):\n  w : Tensor\n");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { outside.Tensors(); }),
            "data.pkl has w quantised to int8 outside a linear layer, which is not supported");
  EXPECT_FALSE(outside.HasPackedLinear());
}

// A module that holds itself, and modules each of which holds the next one twice.
TEST(ScriptArchiveTest, ModulesWithoutEnd) {
  const std::string endless =
      "data.pkl has modules that hold each other, or more of them than any model";
  const std::string object = testing::pickle::Name("__torch__", "A") + ")\x81";
  const std::string self =
      object + "q" + LittleEndian(0, 1) + "}(" + Text("a") + "h" + LittleEndian(0, 1) + "ub";
  const ScriptArchive cycle = Archive(self, "class A(Module):\n");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { cycle.Modules(); }), endless);
  std::string doubled = Object("A", "");
  for (int i = 0; i < 60; ++i) {
    const std::string number = LittleEndian(static_cast<uint64_t>(i), 1);
    doubled = object + "}(" + Text("a") + doubled + "q" + number + Text("b") + "h" + number + "ub";
  }
  const ScriptArchive tower = Archive(doubled, "class A(Module):\n");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { tower.Modules(); }), endless);
}

// Files of a small model, to be changed: entries below `folder`.
ZipEntries SmallModel(const std::string& folder) {
  return {{folder + "/data.pkl", Whole(Object("A", Text("w") + TensorOf(2)))},
          {folder + "/code/__torch__.py", "class A(Module):\n  w : Tensor\n"},
          {folder + "/data/2", std::string("\0\0\x80\x3f\0\0\0\x40", 8)},
          {folder + "/constants.pkl", Whole(")")}};
}

std::map<std::string, Tensor> TensorsOfZip(const ZipEntries& entries) {
  const TemporaryFolder folder;
  testing::WriteBytes(folder.File("m.pt"), ZipBytes(entries));
  ZipFile zip(folder.File("m.pt"));
  const ScriptArchive archive(&zip);
  zip.CheckUnreadEntries();
  return archive.Tensors();
}

TEST(ScriptArchiveTest, LayoutsOfAllVersions) {
  for (const auto& more : std::vector<ZipEntries>{
           {},
           {{"version", "2\n"}},
           {{".data/version", "3\n"}, {"code/__torch__.py.debug_pkl", "x"}},
           {{"byteorder", "little"}, {".data/serialization_id", "1"}, {".format_version", "1"}}}) {
    for (const char* folder : {"m", "archive", "a name.with dots"}) {
      ZipEntries entries = SmallModel(folder);
      for (const auto& [name, data] : more) {
        entries.emplace_back(std::string(folder) + "/" + name, data);
      }
      const auto tensors = TensorsOfZip(entries);
      ASSERT_EQ(tensors.size(), 1U);
      EXPECT_EQ(Float32Values(tensors.at("w")), (std::vector<float>{1, 2}));
    }
  }
}

// Unpacked and packed again: in any order, in a folder of another name or in none.
TEST(ScriptArchiveTest, ArchivesThatWerePackedAgain) {
  for (const char* root : {"m/", "renamed/", ""}) {
    ZipEntries entries = {{"notes/readme.txt", "x"}};
    for (const auto& [name, data] : SmallModel("m"))
      entries.emplace_back(root + name.substr(2), data);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Float32Values(TensorsOfZip(entries).at("w")), (std::vector<float>{1, 2}));
      std::reverse(entries.begin(), entries.end());
    }
  }
}

TEST(ScriptArchiveTest, ArchivesThatAreRefused) {
  const auto refusal = [](const ZipEntries& entries) {
    return ErrorMessage<std::runtime_error>([&] { TensorsOfZip(entries); });
  };
  const auto changed = [](size_t index, const std::string& name, const std::string& data) {
    ZipEntries entries = SmallModel("m");
    entries[index] = {name, data};
    return entries;
  };
  EXPECT_EQ(refusal(changed(0, "m/other.pkl", "")), "holds 0 files data.pkl, expected one");
  EXPECT_EQ(refusal(changed(1, "data.pkl", "")), "holds 2 files data.pkl, expected one");
  EXPECT_EQ(refusal(changed(1, "other/code/__torch__.py", "")),
            "data.pkl has an object of class __torch__.A, which the code does not declare");
  EXPECT_EQ(refusal(changed(2, "m/data/0", "")), "holds no data/2");
  EXPECT_EQ(refusal(changed(2, "m/data/2", std::string(7, 'x'))), "data/2 has 7 bytes, expected 8");
  ZipEntries big = SmallModel("m");
  big.emplace_back("m/byteorder", "big");
  EXPECT_EQ(refusal(big), "has another order of bytes, expected the lowest first");
}

TEST(ScriptArchiveTest, ReadsWhatWriteArchiveWrites) {
  const TemporaryFolder folder;
  const std::map<std::string, Tensor> tensors = {
      {"a.0.weight", Tensor(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})},
      {"a.0.bias", Tensor(Shape{1}, std::vector<double>{0.5})},
      {"a.1.weight", Tensor(Shape{}, std::vector<float>{7})},
      {"b", Zeros(DataType::kBfloat16, {0, 3})},
      {"c.d.e.f", Zeros(DataType::kInt64, {2, 2, 2})}};
  testing::WriteArchive(folder.File("m.pt"), tensors, {{"some.txt", "text"}});
  ZipFile zip(folder.File("m.pt"));
  const ScriptArchive archive(&zip);
  EXPECT_EQ(archive.extra_files(), (std::map<std::string, std::string>{{"some.txt", "text"}}));
  const auto read = archive.Tensors();
  ASSERT_EQ(NamesOf(read), NamesOf(tensors));
  for (const auto& [name, tensor] : tensors) {
    const Tensor& found = read.at(name);
    EXPECT_EQ(found.type(), tensor.type());
    EXPECT_EQ(found.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(found.data(), tensor.data(), static_cast<size_t>(tensor.num_bytes())), 0);
  }
}

}  // namespace
}  // namespace runnel
