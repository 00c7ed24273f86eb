// Writes pickles as torch.jit.save does, with mistakes where a test makes them.
#ifndef RUNNEL_TESTS_SUPPORT_PICKLE_WRITER_H_
#define RUNNEL_TESTS_SUPPORT_PICKLE_WRITER_H_

#include <cstdint>
#include <string>

#include "encoder/model_file/tensor.h"
#include "tests/support/little_endian.h"

namespace runnel::testing::pickle {

// The operations are texts of bytes, to be put together with +.
inline std::string Text(const std::string& text) {
  return "X" + LittleEndian(text.size(), 4) + text;
}
inline std::string Integer(int64_t number) {
  return "\x8a\x08" + LittleEndian(static_cast<uint64_t>(number), 8);
}
inline std::string Name(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string Tuple(const std::string& items) { return "(" + items + "t"; }
// Of a function by name.
inline std::string Call(const std::string& module, const std::string& name,
                        const std::string& arguments) {
  return Name(module, name) + Tuple(arguments) + "R";
}
// `attributes`: names and values in turn.
inline std::string Object(const std::string& class_name, const std::string& attributes) {
  return Name("__torch__", class_name) + ")\x81}(" + attributes + "ub";
}
inline std::string Whole(const std::string& value) { return "\x80\x02" + value + "."; }

inline const char* StorageClass(DataType type) {
  constexpr const char* kNames[] = {
      "FloatStorage", "BFloat16Storage", "DoubleStorage", "HalfStorage", "LongStorage",
      "IntStorage",   "ShortStorage",    "CharStorage",   "ByteStorage", "BoolStorage"};
  return kNames[static_cast<size_t>(type)];
}

inline std::string Storage(const std::string& class_name, const std::string& key, int64_t count) {
  return Tuple(Text("storage") + Name("torch", class_name) + Text(key) + Text("cpu") +
               Integer(count)) +
         "Q";
}

inline std::string Sizes(const Shape& sizes) {
  std::string items;
  for (const int64_t size : sizes) items += Integer(size);
  return Tuple(items);
}

// A part of a storage; `storage`: an operation that gives it.
inline std::string StoredTensor(const std::string& storage, int64_t offset, const Shape& shape,
                                const Shape& strides) {
  return Call("torch._utils", "_rebuild_tensor_v2",
              storage + Integer(offset) + Sizes(shape) + Sizes(strides) + "\x89" +
                  Name("collections", "OrderedDict") + ")R");
}

inline Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace runnel::testing::pickle

#endif  // RUNNEL_TESTS_SUPPORT_PICKLE_WRITER_H_
