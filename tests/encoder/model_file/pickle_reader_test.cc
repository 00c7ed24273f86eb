// Every operation of torch's pickles, and what is refused.
#include "encoder/model_file/pickle_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/little_endian.h"
#include "tests/support/pickle_writer.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::LittleEndian;
using testing::pickle::Call;
using testing::pickle::Integer;
using testing::pickle::Name;
using testing::pickle::Object;
using testing::pickle::Sizes;
using testing::pickle::Storage;
using testing::pickle::StoredTensor;
using testing::pickle::Text;
using testing::pickle::Tuple;
using testing::pickle::Whole;

// The bytes of any storage: 0, 1, 2 ...
std::shared_ptr<const void> CountingBytes(std::string_view /*key*/, int64_t num_bytes) {
  if (num_bytes > 1 << 20) throw std::runtime_error("a storage of " + std::to_string(num_bytes));
  const std::shared_ptr<void> memory = NewMemory(num_bytes);
  auto* bytes = static_cast<uint8_t*>(memory.get());
  for (int64_t i = 0; i < num_bytes; ++i) bytes[i] = static_cast<uint8_t>(i);
  return memory;
}

ScriptPickle Read(const std::string& value) { return ReadPickle(Whole(value), CountingBytes); }

std::string Refusal(const std::string& bytes) {
  return ErrorMessage<std::runtime_error>([&] { ReadPickle(bytes, CountingBytes); });
}
std::string RefusalOf(const std::string& value) { return Refusal(Whole(value)); }

template <typename Kind>
Kind ValueOf(const std::string& value) {
  const ScriptPickle pickle = Read(value);
  const Kind* found = pickle.root.As<Kind>();
  if (found == nullptr) throw std::runtime_error("a value of another kind");
  return *found;
}

std::vector<int64_t> IntegersOf(const ScriptList& list) {
  std::vector<int64_t> numbers;
  for (const ScriptValue& item : list.items) numbers.push_back(*item.As<int64_t>());
  return numbers;
}

std::vector<int> BytesOfTensor(const Tensor& tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.data());
  return {bytes, bytes + tensor.num_bytes()};
}

// A tensor of bytes in a storage of ten.
std::string Part(int64_t offset, const Shape& shape, const Shape& strides) {
  return StoredTensor(Storage("ByteStorage", "0", 10), offset, shape, strides);
}

TEST(PickleReaderTest, NumbersAndTexts) {
  EXPECT_EQ(ValueOf<int64_t>("K\xff"), 255);
  EXPECT_EQ(ValueOf<int64_t>("M\xff\xfe"), 0xfeff);
  EXPECT_EQ(ValueOf<int64_t>("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(ValueOf<int64_t>("J" + LittleEndian(0x7fffffff, 4)), 0x7fffffff);
  EXPECT_EQ(ValueOf<int64_t>(Integer(INT64_MIN)), INT64_MIN);
  EXPECT_EQ(ValueOf<double>(std::string("G\x3f\xf8\0\0\0\0\0\0", 9)), 1.5);
  EXPECT_TRUE(ValueOf<bool>("\x88"));
  EXPECT_FALSE(ValueOf<bool>("\x89"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Read("N").root.value));
  const ScriptPickle text = Read(Text("one\ntwo"));
  EXPECT_EQ(*text.root.As<std::string_view>(), "one\ntwo");
}

TEST(PickleReaderTest, ListsTuplesAndDictionaries) {
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("](K\1K\2e")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("](e")), std::vector<int64_t>());
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>(")")), std::vector<int64_t>());
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("(K\1K\2K\3K\4t")), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("K\1\x85")), std::vector<int64_t>{1});
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("K\1K\2\x86")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("K\1K\2K\3\x87")), (std::vector<int64_t>{1, 2, 3}));
  const ScriptPickle pickle = Read("}(K\1" + Text("a") + "K\2" + Text("b") + "u");
  const auto* dict = pickle.root.As<ScriptDict>();
  ASSERT_NE(dict, nullptr);
  ASSERT_EQ(dict->items.size(), 2U);
  EXPECT_EQ(*dict->items[1].first.As<int64_t>(), 2);
  EXPECT_EQ(*dict->items[1].second.As<std::string_view>(), "b");
}

TEST(PickleReaderTest, RemembersValues) {
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("K\7q" + LittleEndian(0, 1) + "h" + LittleEndian(0, 1) +
                                           "\x86")),
            (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>("K\7r" + LittleEndian(0, 4) + "j" + LittleEndian(0, 4) +
                                           "\x86")),
            (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(RefusalOf("K\7q\1"), "data.pkl remembers values in another order than theirs");
  EXPECT_EQ(RefusalOf("h\1"), "data.pkl refers to a value that it does not remember");
  EXPECT_EQ(RefusalOf("j\xff\xff\xff\xff"), "data.pkl refers to a value that it does not remember");
  EXPECT_EQ(RefusalOf("q" + LittleEndian(0, 1)), "data.pkl lacks a value to remember");
}

TEST(PickleReaderTest, Objects) {
  const ScriptPickle pickle =
      Read(Object("Model", Text("b") + "\x88" + Text("a") + Object("Part", "")));
  const auto* object = pickle.root.As<ScriptObject>();
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->class_name->Full(), "__torch__.Model");
  EXPECT_FALSE(object->is_opaque);
  ASSERT_EQ(object->attributes.size(), 2U);
  EXPECT_TRUE(*object->attributes.at("b").As<bool>());
  EXPECT_EQ(object->attributes.at("a").As<ScriptObject>()->class_name->name, "Part");
}

TEST(PickleReaderTest, ObjectsThatOnlyTheirCodeCanMake) {
  const std::string object = Name("__torch__", "Packed") + ")\x81";
  EXPECT_TRUE(ValueOf<ScriptObject>(object + "K\1\x85" + "b").is_opaque);
  EXPECT_TRUE(ValueOf<ScriptObject>(object +
                                    Call("torch.jit._pickle", "restore_type_tag",
                                         "}(" + Text("a") + "K\1u" + Text("Dict[str, int]")) +
                                    "b")
                  .is_opaque);
}

TEST(PickleReaderTest, Functions) {
  for (const char* list :
       {"build_intlist", "build_tensorlist", "build_doublelist", "build_boollist"}) {
    EXPECT_EQ(IntegersOf(ValueOf<ScriptList>(Call("torch.jit._pickle", list, "](K\1K\2e"))),
              (std::vector<int64_t>{1, 2}));
  }
  EXPECT_EQ(IntegersOf(ValueOf<ScriptList>(
                Call("torch.jit._pickle", "restore_type_tag", "](K\1e" + Text("List[int]")))),
            std::vector<int64_t>{1});
  const ScriptPickle device = Read(Call("torch", "device", Text("cpu")));
  EXPECT_EQ(*device.root.As<std::string_view>(), "cpu");
  EXPECT_EQ(ValueOf<int64_t>(Name("__torch__.colors", "Color") + "K\2R"), 2);  // an enumerator
}

TEST(PickleReaderTest, NothingIsExecuted) {
  EXPECT_EQ(RefusalOf(Call("os", "system", Text("true"))),
            "data.pkl calls os.system with 1 arguments, which is not supported");
  EXPECT_EQ(RefusalOf(Call("torch.jit._pickle", "build_tensor_from_id", "K\1")),
            "data.pkl calls torch.jit._pickle.build_tensor_from_id with 1 arguments, which is not "
            "supported");
  EXPECT_EQ(RefusalOf(Call("collections", "OrderedDict", "K\1")),
            "data.pkl calls collections.OrderedDict with 1 arguments, which is not supported");
  EXPECT_EQ(RefusalOf(Name("torch.nn", "Linear\x1b") + ")\x81"),
            "data.pkl has an object of class torch.nn.Linear?, which is not of TorchScript");
  EXPECT_EQ(RefusalOf(Name("__torch__", "A") + "K\1\x85\x81"),
            "data.pkl makes an object from arguments");
}

TEST(PickleReaderTest, TensorsOfEveryType) {
  for (const DataType type : {DataType::kBool, DataType::kUint8, DataType::kInt8, DataType::kInt16,
                              DataType::kInt32, DataType::kInt64, DataType::kFloat16,
                              DataType::kBfloat16, DataType::kFloat32, DataType::kFloat64}) {
    const std::string storage = Storage(testing::pickle::StorageClass(type), "0", 7);
    const auto tensor = ValueOf<Tensor>(StoredTensor(storage, 1, {2, 3}, {3, 1}));
    EXPECT_EQ(tensor.type(), type);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    const auto size = static_cast<int>(BytesOf(type));
    EXPECT_EQ(BytesOfTensor(tensor).front(), size);
    EXPECT_EQ(BytesOfTensor(tensor).back(), 7 * size - 1);
  }
}

TEST(PickleReaderTest, Strides) {
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(Part(1, {2, 3}, {1, 2}))),
            (std::vector<int>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(Part(0, {2, 2, 2}, {5, 1, 2}))),
            (std::vector<int>{0, 2, 1, 3, 5, 7, 6, 8}));
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(Part(9, {1, 1}, {77, 0}))), std::vector<int>{9});
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(Part(3, {}, {}))), std::vector<int>{3});
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(Part(3, {3}, {0}))), (std::vector<int>{3, 3, 3}));
  EXPECT_EQ(ValueOf<Tensor>(Part(10, {0, 5}, {5, 1})).count(), 0);
  EXPECT_EQ(ValueOf<Tensor>(Part(0, {5, 0}, {1, 1})).shape(), (Shape{5, 0}));
  const std::string wide = StoredTensor(Storage("ShortStorage", "0", 4), 0, {2, 2}, {1, 2});
  EXPECT_EQ(BytesOfTensor(ValueOf<Tensor>(wide)), (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7}));
}

TEST(PickleReaderTest, TensorsShareAStorage) {
  const std::string memo_0 = "q" + LittleEndian(0, 1);
  const std::string again = "h" + LittleEndian(0, 1);
  const ScriptPickle pickle =
      Read(Tuple(StoredTensor(Storage("FloatStorage", "w", 6) + memo_0, 0, {2, 3}, {3, 1}) +
                 StoredTensor(again, 3, {3}, {1})));
  const auto& items = pickle.root.As<ScriptList>()->items;
  EXPECT_EQ(items[0].As<Tensor>()->float32() + 3, items[1].As<Tensor>()->float32());
}

TEST(PickleReaderTest, TensorsOutsideTheirStorage) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  const std::string outside = "data.pkl has a tensor outside its storage";
  EXPECT_EQ(RefusalOf(Part(0, {11}, {1})), outside);
  EXPECT_EQ(RefusalOf(Part(8, {3}, {1})), outside);
  EXPECT_EQ(RefusalOf(Part(10, {}, {})), outside);
  EXPECT_EQ(RefusalOf(Part(11, {0}, {1})), outside);
  EXPECT_EQ(RefusalOf(Part(0, {2, 2}, {9, 2})), outside);
  EXPECT_EQ(RefusalOf(Part(0, {2}, {kLarge})), outside);
  EXPECT_EQ(RefusalOf(Part(0, {kLarge, kLarge, kLarge}, {0, 0, 0})), outside);
  for (const int64_t size : {int64_t{-1}, kLarge + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(RefusalOf(Part(size, {1}, {1})), "data.pkl has a tensor of a wrong size");
    EXPECT_EQ(RefusalOf(Part(0, {size}, {1})), "data.pkl has a tensor of a wrong size");
    EXPECT_EQ(RefusalOf(Part(0, {2}, {size})), "data.pkl has a tensor of a wrong size");
    EXPECT_EQ(RefusalOf(Storage("FloatStorage", "0", size)),
              "data.pkl has a tensor of a wrong size");
  }
  EXPECT_EQ(RefusalOf(Part(0, {2}, {1, 1})), "data.pkl has a tensor of other sizes than strides");
  EXPECT_TRUE(Contains(RefusalOf(Part(0, Shape(9, 1), Shape(9, 1))), "with more than 8"));
}

TEST(PickleReaderTest, CopiesAreLimited) {
  const std::string repeats = "data.pkl has tensors that repeat the values of their storages";
  EXPECT_EQ(ValueOf<Tensor>(Part(0, {40}, {0})).count(), 40);
  EXPECT_EQ(RefusalOf(Part(0, {41}, {0})), repeats);
  EXPECT_EQ(RefusalOf(Part(0, {1 << 20, 1 << 19}, {0, 0})), repeats);
  std::string copies;
  for (int i = 0; i < 6; ++i) copies += Part(0, {2, 5}, {1, 2});
  EXPECT_EQ(RefusalOf(Tuple(copies)), repeats);
}

TEST(PickleReaderTest, StoragesThatAreNone) {
  EXPECT_EQ(RefusalOf(Storage("FooStorage", "0", 1)),
            "data.pkl has a storage of class torch.FooStorage, which PyTorch does not have");
  EXPECT_EQ(RefusalOf(Tuple("K\1") + "Q"), "data.pkl has a storage of 1 parts");
  EXPECT_EQ(RefusalOf("K\1Q"), "data.pkl lacks a storage");
  EXPECT_EQ(RefusalOf(StoredTensor("K\1", 0, {1}, {1})), "data.pkl has a tensor without a storage");
  EXPECT_EQ(RefusalOf(Tuple(StoredTensor(Storage("FloatStorage", "0", 1), 0, {1}, {1}) +
                            StoredTensor(Storage("IntStorage", "0", 1), 0, {1}, {1}))),
            "data.pkl has one storage of two types or sizes");
  EXPECT_EQ(RefusalOf(StoredTensor(Storage("FloatStorage", "0", 1 << 20), 0, {1}, {1})),
            "a storage of 4194304");
}

// 0 1 2 ... as int8, of these sizes. `scheme`: the parts of a tuple.
std::string Quantised(const std::string& scheme, const Shape& shape, const Shape& strides,
                      const std::string& storage = "QInt8Storage") {
  return Call("torch._utils", "_rebuild_qtensor",
              Storage(storage, "0", 6) + Integer(0) + Sizes(shape) + Sizes(strides) +
                  Tuple(scheme) + "\x89N");
}
std::string ByTensor(double scale, int64_t zero_point) {
  std::string bytes(sizeof(scale), '\0');
  std::memcpy(bytes.data(), &scale, sizeof(scale));
  return Name("torch", "per_tensor_affine") + "G" + std::string(bytes.rbegin(), bytes.rend()) +
         Integer(zero_point);
}

std::vector<float> DequantisedValues(const std::string& value) {
  const ScriptPickle pickle = Read(value);
  return Float32Values(pickle.root.As<ScriptQuantizedTensor>()->values);
}

TEST(PickleReaderTest, QuantisedTensors) {
  EXPECT_EQ(DequantisedValues(Quantised(ByTensor(0.5, 2), {2, 3}, {3, 1})),
            (std::vector<float>{-1, -0.5F, 0, 0.5F, 1, 1.5F}));
  EXPECT_EQ(DequantisedValues(Quantised(ByTensor(2, -128), {2, 2}, {1, 2})),
            (std::vector<float>{256, 260, 258, 262}));
  // The scales are the bytes of other storages, which are numbers close to 0.
  const std::string scales = StoredTensor(Storage("DoubleStorage", "1", 3), 1, {2}, {1});
  const std::string zeros = StoredTensor(Storage("LongStorage", "2", 2), 0, {2}, {0});
  const std::string by_row = Name("torch", "per_channel_affine") + scales + zeros;
  EXPECT_EQ(RefusalOf(Quantised(by_row + Integer(0), {2, 3}, {3, 1})),
            "data.pkl has a quantised tensor with a zero point that is not of 8 bits");
  EXPECT_EQ(RefusalOf(Quantised(by_row + Integer(0), {3, 2}, {2, 1})),
            "data.pkl has a quantised tensor with another number of scales than rows");
}

TEST(PickleReaderTest, QuantisedTensorsThatAreDamaged) {
  const std::string name = Name("torch", "per_tensor_affine");
  const auto refusal = [](const std::string& scheme) {
    return RefusalOf(Quantised(scheme, {6}, {1}));
  };
  EXPECT_EQ(refusal(""), "data.pkl has a quantised tensor without a scheme");
  EXPECT_EQ(refusal("K\1"), "data.pkl has a quantised tensor without a scheme");
  EXPECT_EQ(refusal(name + "K\1K\1"),
            "data.pkl has a quantised tensor without scales or zero points");
  for (const double scale :
       {0.0, -1.0, 1e39, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    EXPECT_EQ(refusal(ByTensor(scale, 0)),
              "data.pkl has a quantised tensor with a scale that is not a positive number");
  }
  for (const int64_t zero_point : {int64_t{128}, int64_t{-129}, INT64_MIN}) {
    EXPECT_EQ(refusal(ByTensor(1, zero_point)),
              "data.pkl has a quantised tensor with a zero point that is not of 8 bits");
  }
  EXPECT_EQ(RefusalOf(Quantised(ByTensor(1, 0), {7}, {1})),
            "data.pkl has a tensor outside its storage");
  // Values that float32 holds take four times the memory of those in the file, and no more.
  EXPECT_EQ(
      RefusalOf(Tuple(Quantised(ByTensor(1, 0), {6}, {1}) + Quantised(ByTensor(1, 0), {6}, {1}))),
      "data.pkl has tensors that repeat the values of their storages");
}

TEST(PickleReaderTest, TensorsOfOtherKindsAreValuesThatNobodyReads) {
  const std::string by_column = Name("torch", "per_channel_affine") + "NN" + Integer(1);
  for (const std::string& other :
       {Quantised(ByTensor(1, 0), {6}, {1}, "QUInt8Storage"), Quantised(by_column, {6}, {1}),
        Quantised(Name("torch", "of_the_future"), {6}, {1})}) {
    EXPECT_EQ(Read(other).root.As<ScriptUnreadTensor>()->reason->Full(),
              "torch._utils._rebuild_qtensor");
  }
  const std::string complex = StoredTensor(Storage("ComplexFloatStorage", "0", 4), 0, {4}, {1});
  EXPECT_EQ(Read(complex).root.As<ScriptUnreadTensor>()->reason->Full(),
            "torch.ComplexFloatStorage");
}

TEST(PickleReaderTest, UnknownOperations) {
  const std::string known = "(.JKM\x8aGNX]e)t}ucRbQhjqr\x85\x86\x87\x88\x89\x81";
  for (int op = 0; op < 256; ++op) {
    if (known.find(static_cast<char>(op)) != std::string::npos) continue;
    EXPECT_EQ(
        RefusalOf(std::string(1, static_cast<char>(op))),
        "data.pkl has the opcode " + std::to_string(op) + ", which torch.jit.save does not write");
  }
}

TEST(PickleReaderTest, OperationsOutOfPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "lacks a value"},
      {"K\1K\1", "ends with values that belong to nothing"},
      {"K\1(", "ends within a tuple, a list or a dictionary"},
      {"t", "lacks a mark"},
      {"](\x85", "lacks items of a tuple"},
      {"K\1K\1\x87", "lacks items of a tuple"},
      {")(K\1e", "appends to a tuple"},
      {"K\1(K\1e", "lacks a list"},
      {"}(K\1u", "has a key without a value"},
      {"K\1(u", "lacks a dictionary"},
      {"K\1R", "lacks a function"},
      {Name("a", "b") + "K\1R", "calls a function without arguments"},
      {")K\1b", "lacks an object"},
      {Object("A", "") + "}b", "gives an object attributes twice"},
      {Object("A", "K\1K\1"), "has an attribute without a name"},
      {Object("A", Text("") + "N"), "has the attribute name ''"},
      {Object("A", Text("a\n") + "N"), "has the attribute name 'a?'"},
      {Object("A", Text("a") + "N" + Text("a") + "N"), "has the attribute a twice"},
      {"\x8a\x01\x01", "has a long number that is not of 64 bits"},
      {"cname", "has a name that is too long or truncated"},
      {"c" + std::string(5000, 'a') + "\nb\n", "has a name that is too long or truncated"},
      {"X\xff\xff\xff\xff", "is truncated"}};
  for (const auto& [value, problem] : cases) {
    EXPECT_EQ(RefusalOf(value), "data.pkl " + problem) << problem;
  }
  const std::string attributes = "}q" + LittleEndian(0, 1);
  EXPECT_EQ(RefusalOf(Tuple(attributes + Name("__torch__", "A") + ")\x81h" + LittleEndian(0, 1) +
                            "b" + Name("__torch__", "A") + ")\x81h" + LittleEndian(0, 1) + "b")),
            "data.pkl gives two objects the same attributes");
}

TEST(PickleReaderTest, BeginningAndEnd) {
  EXPECT_EQ(Refusal(""), "data.pkl is truncated");
  EXPECT_EQ(Refusal("\x80"), "data.pkl is truncated");
  EXPECT_EQ(Refusal("\x80\x04N."),
            "data.pkl is no pickle of protocol 2, which torch.jit.save writes");
  EXPECT_EQ(Refusal(Whole("N") + "N"), "data.pkl goes on behind its end");
}

// A list in a list in a list ..., and lists that hold themselves and each other.
TEST(PickleReaderTest, DeepNestingAndCycles) {
  constexpr int kDepth = 1000000;
  std::string deep = "]";
  for (int i = 0; i < kDepth; ++i) deep += "\x85";
  EXPECT_EQ(Read(deep).lists.size(), kDepth + 1U);
  const std::string self = "q" + LittleEndian(0, 1) + "(h" + LittleEndian(0, 1) + "e";
  const ScriptPickle cycle = Read("]" + self);
  EXPECT_EQ(cycle.root.As<ScriptList>()->items[0].As<ScriptList>(), cycle.root.As<ScriptList>());
}

TEST(PickleReaderTest, MemoryIsLimited) {
  EXPECT_EQ(RefusalOf("(" + std::string(5000000, 'N') + "t"),
            "data.pkl holds more values than any model");
  // A text that is put on the stack many times is there once.
  std::string text = "(" + Text(std::string(1 << 20, 'x')) + "q" + LittleEndian(0, 1);
  for (int i = 0; i < 100000; ++i) text += "h" + LittleEndian(0, 1);
  EXPECT_EQ(ValueOf<ScriptList>(text + "t").items.size(), 100001U);
}

// A pickle with a bit of everything.
std::string Everything() {
  return Whole(
      Object("Model",
             Text("number") + "K\5" + Text("real") + "G" + LittleEndian(0, 8) + Text("list") +
                 Call("torch.jit._pickle", "build_intlist", "](K\1M" + LittleEndian(300, 2) + "e") +
                 Text("tensor") + Part(1, {2, 3}, {1, 2}) + Text("part") +
                 Object("Part", Text("none") + "N" + Text("yes") + "\x88")));
}

TEST(PickleReaderTest, TruncatedAnywhere) {
  const std::string whole = Everything();
  ReadPickle(whole, CountingBytes);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string message = Refusal(whole.substr(0, size));
    EXPECT_EQ(message.find("data.pkl "), 0U) << size;
  }
}

TEST(PickleReaderTest, ChangedBytesGiveAnErrorOrAnotherValue) {
  const std::string whole = Everything();
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  int num_read = 0;
  for (int run = 0; run < 20000; ++run) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << ", run " << run);
    std::string bytes = whole;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    try {
      ReadPickle(bytes, CountingBytes);
      ++num_read;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).find_first_of("\r\n"), std::string::npos);
    }
  }
  EXPECT_GT(num_read, 100);
}

}  // namespace
}  // namespace runnel
