#include "encoder/model_file/pickle_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder/model_file/printable_name.h"
#include "encoder/model_file/script_functions.h"

namespace runnel {
namespace {

// Opcodes of Python's pickle, protocol 2 (pickletools.py), that torch's pickler writes.
enum class Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppends = 'e',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyDict = '}',
  kSetItems = 'u',
  kGlobal = 'c',
  kReduce = 'R',
  kBuild = 'b',
  kNewObj = 0x81,
  kBinPersId = 'Q',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kProto = 0x80
};

// Far more than those of any model; each takes about 100 bytes of memory.
constexpr size_t kMostPushes = size_t{1} << 22;
constexpr size_t kLongestName = 1000;  // of a class or an attribute
class Machine {
 public:
  Machine(ScriptPickle* pickle, const ReadStorage& read_storage)
      : pickle_(*pickle), bytes_(*pickle->bytes), tensors_(read_storage) {}

  void Run() {
    if (Byte() != static_cast<uint8_t>(Op::kProto) || Byte() != 2) {
      FailPickle("is no pickle of protocol 2, which torch.jit.save writes");
    }
    while (true) {
      const uint8_t op = Byte();
      if (op == static_cast<uint8_t>(Op::kStop)) break;
      Execute(static_cast<Op>(op));
    }
    if (!marks_.empty()) FailPickle("ends within a tuple, a list or a dictionary");
    pickle_.root = Pop("a value");
    if (!stack_.empty()) FailPickle("ends with values that belong to nothing");
    if (at_ != bytes_.size()) FailPickle("goes on behind its end");
  }

 private:
  void Execute(Op op) {
    switch (op) {
      case Op::kMark:
        return PushMark();
      case Op::kBinInt:
        return Push(int64_t{static_cast<int32_t>(Number(4))});
      case Op::kBinInt1:
        return Push(static_cast<int64_t>(Number(1)));
      case Op::kBinInt2:
        return Push(static_cast<int64_t>(Number(2)));
      case Op::kLong1:
        if (Byte() != 8) FailPickle("has a long number that is not of 64 bits");
        return Push(static_cast<int64_t>(Number(8)));
      case Op::kBinFloat:
        return PushFloat();
      case Op::kNone:
        return Push(std::monostate());
      case Op::kNewTrue:
        return Push(true);
      case Op::kNewFalse:
        return Push(false);
      case Op::kBinUnicode:
        return Push(Bytes(Number(4)));
      case Op::kEmptyList:
        return Push(&pickle_.lists.emplace_back());
      case Op::kAppends:
        return Append();
      case Op::kEmptyTuple:
        return PushTuple({});
      case Op::kTuple:
        return PushTuple(PopToMark());
      case Op::kTuple1:
        return PushTupleOf(1);
      case Op::kTuple2:
        return PushTupleOf(2);
      case Op::kTuple3:
        return PushTupleOf(3);
      case Op::kEmptyDict:
        return Push(&pickle_.dicts.emplace_back());
      case Op::kSetItems:
        return SetItems();
      case Op::kGlobal:
        return PushName();
      case Op::kReduce:
        return Reduce();
      case Op::kNewObj:
        return PushObject();
      case Op::kBuild:
        return Build();
      case Op::kBinPersId:
        return PushValue(MakeStorage(PopPointed<ScriptList>("a storage").items, &pickle_));
      case Op::kBinGet:
        return Get(Number(1));
      case Op::kLongBinGet:
        return Get(Number(4));
      case Op::kBinPut:
        return Put(Number(1));
      case Op::kLongBinPut:
        return Put(Number(4));
      case Op::kProto:
      case Op::kStop:
        break;
    }
    FailPickle("has the opcode " + std::to_string(static_cast<int>(op)) +
               ", which torch.jit.save does not write");
  }

  std::string_view Bytes(uint64_t count) {
    if (bytes_.size() - at_ < count) FailPickle("is truncated");
    const std::string_view part = bytes_.substr(at_, static_cast<size_t>(count));
    at_ += part.size();
    return part;
  }
  uint8_t Byte() { return static_cast<uint8_t>(Bytes(1)[0]); }

  // An unsigned number, the lowest byte first.
  uint64_t Number(int num_bytes) {
    uint64_t number = 0;
    for (int i = 0; i < num_bytes; ++i) number |= uint64_t{Byte()} << (8 * i);
    return number;
  }

  std::string_view Line() {
    // No longer than a name may be, so that a missing end takes no time.
    const size_t end = bytes_.substr(at_, kLongestName).find('\n');
    if (end == std::string_view::npos) FailPickle("has a name that is too long or truncated");
    const std::string_view line = Bytes(end);
    ++at_;
    return line;
  }

  template <typename Kind>
  void Push(Kind value) {
    PushValue(ScriptValue{value});
  }
  void PushValue(const ScriptValue& value) {
    if (++num_pushes_ > kMostPushes) FailPickle("holds more values than any model");
    stack_.push_back(value);
  }
  void PushMark() {
    if (++num_pushes_ > kMostPushes) FailPickle("holds more values than any model");
    marks_.push_back(stack_.size());
  }

  // The values above the last mark may be taken.
  void CheckHas(size_t count, const char* expected) const {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) FailPickle(std::string("lacks ") + expected);
  }

  ScriptValue Pop(const char* expected) {
    CheckHas(1, expected);
    const ScriptValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  // The object of a pointer on the stack, of the kind that is asked for.
  template <typename Kind>
  Kind& Pointed(const ScriptValue& value, const char* expected) {
    Kind* const* pointer = std::get_if<Kind*>(&value.value);
    if (pointer == nullptr) FailPickle(std::string("lacks ") + expected);
    return **pointer;
  }
  template <typename Kind>
  Kind& PopPointed(const char* expected) {
    return Pointed<Kind>(Pop(expected), expected);
  }
  // On top of the stack, where it stays.
  template <typename Kind>
  Kind& Top(const char* expected) {
    CheckHas(1, expected);
    return Pointed<Kind>(stack_.back(), expected);
  }

  std::vector<ScriptValue> PopLast(size_t count) {
    const auto first = stack_.end() - static_cast<ptrdiff_t>(count);
    std::vector<ScriptValue> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    return items;
  }
  // The values above the last mark, which goes too.
  std::vector<ScriptValue> PopToMark() {
    if (marks_.empty()) FailPickle("lacks a mark");
    const size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return PopLast(count);
  }

  void PushFloat() {  // the highest byte first
    uint64_t bits = 0;
    for (const char byte : Bytes(sizeof(bits))) bits = bits << 8 | static_cast<uint8_t>(byte);
    double number = 0;
    std::memcpy(&number, &bits, sizeof(number));
    Push(number);
  }

  void PushTuple(std::vector<ScriptValue> items) {
    Push(&pickle_.lists.emplace_back(ScriptList{std::move(items), true}));
  }
  void PushTupleOf(size_t size) {
    CheckHas(size, "items of a tuple");
    PushTuple(PopLast(size));
  }

  void Append() {
    const std::vector<ScriptValue> items = PopToMark();
    auto& list = Top<ScriptList>("a list");
    if (list.is_tuple) FailPickle("appends to a tuple");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }

  void SetItems() {
    const std::vector<ScriptValue> items = PopToMark();
    if (items.size() % 2 != 0) FailPickle("has a key without a value");
    auto& dict = Top<ScriptDict>("a dictionary");
    if (dict.is_attributes) FailPickle("changes the attributes of an object");
    for (size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(items[i], items[i + 1]);
  }

  void PushName() {
    const std::string_view module = Line();
    Push(&pickle_.names.emplace_back(ScriptName{module, Line()}));
  }

  void PushObject() {
    if (!PopPointed<ScriptList>("the arguments of a class").items.empty()) {
      FailPickle("makes an object from arguments");
    }
    const auto& name = PopPointed<ScriptName>("a class");
    if (!IsOfTorchScript(name)) {
      FailPickle("has an object of class " + PrintableName(name.Full()) +
                 ", which is not of TorchScript");
    }
    ScriptObject& object = pickle_.objects.emplace_back();
    object.class_name = &name;
    Push(&object);
  }

  // The attributes of an object: a dictionary without a type, or what its class' __setstate__
  // takes.
  void Build() {
    const ScriptValue state = Pop("the attributes of an object");
    auto& object = Top<ScriptObject>("an object");
    if (std::exchange(object.is_built, true)) FailPickle("gives an object attributes twice");
    auto* const* pointer = std::get_if<ScriptDict*>(&state.value);
    if (pointer == nullptr || (*pointer)->is_typed) {
      object.is_opaque = true;
      object.state = state.As<ScriptList>();
      return;
    }
    if (std::exchange((*pointer)->is_attributes, true)) {
      FailPickle("gives two objects the same attributes");
    }
    for (const auto& [key, value] : std::exchange((*pointer)->items, {})) {
      const auto* name = key.As<std::string_view>();
      if (name == nullptr) FailPickle("has an attribute without a name");
      CheckAttributeName(*name);
      if (!object.attributes.emplace(*name, value).second) {
        FailPickle("has the attribute " + PrintableName(*name) + " twice");
      }
    }
  }

  static void CheckAttributeName(std::string_view name) {
    const auto is_control = [](unsigned char byte) { return byte < ' ' || byte == 0x7F; };
    if (name.empty() || name.size() > kLongestName ||
        std::any_of(name.begin(), name.end(), is_control)) {
      FailPickle("has the attribute name '" + PrintableName(name) + "'");
    }
  }

  void Reduce() {
    const ScriptValue argument = Pop("the arguments of a function");
    const auto& function = PopPointed<ScriptName>("a function");
    PushValue(CallFunction(function, argument, &tensors_, &pickle_));
  }

  // torch numbers what it remembers from 0 on.
  void Put(uint64_t number) {
    CheckHas(1, "a value to remember");
    if (number != memo_.size()) FailPickle("remembers values in another order than theirs");
    memo_.push_back(stack_.back());
  }
  void Get(uint64_t number) {
    if (number >= memo_.size()) FailPickle("refers to a value that it does not remember");
    PushValue(memo_[static_cast<size_t>(number)]);
  }

  ScriptPickle& pickle_;
  std::string_view bytes_;
  size_t at_ = 0;
  StoredTensors tensors_;
  std::vector<ScriptValue> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  size_t num_pushes_ = 0;
  std::vector<ScriptValue> memo_;
};

}  // namespace

ScriptPickle ReadPickle(std::string bytes, const ReadStorage& read_storage) {
  ScriptPickle pickle;
  pickle.bytes = std::make_unique<const std::string>(std::move(bytes));
  Machine(&pickle, read_storage).Run();
  return pickle;
}

}  // namespace runnel
