// The data types of values in model files and in rows.
#ifndef RUNNEL_ENCODER_MODEL_FILE_DATA_TYPE_H_
#define RUNNEL_ENCODER_MODEL_FILE_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

// Rows (encoder/rows.h) have the first three only.
enum class DataType {
  kFloat32,
  kBfloat16,
  kFloat64,
  kFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kBool
};

constexpr int64_t BytesOf(DataType type) {
  constexpr int64_t kBytes[] = {4, 2, 8, 2, 8, 4, 2, 1, 1, 1};
  return kBytes[static_cast<size_t>(type)];
}

// "float32"
constexpr const char* NameOf(DataType type) {
  constexpr const char* kNames[] = {"float32", "bfloat16", "float64", "float16", "int64",
                                    "int32",   "int16",    "int8",    "uint8",   "bool"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_DATA_TYPE_H_
