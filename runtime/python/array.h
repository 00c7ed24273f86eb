// NumPy arrays, by their attributes in Python. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_ARRAY_H_
#define RUNNEL_RUNTIME_PYTHON_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/python/object.h"

namespace runnel::python {

// What the functions below and those of arguments.h use of NumPy.
struct Numpy {
  // Looked up in the first call.
  static const Numpy& Get();

  Object array;  // the classes
  Object boolean;
  Object float32;  // the data types
  Object float64;
  Object int16;
  Object empty;  // the function
};

// Whether the values of an array have this data type, in the byte order of the machine.
bool HasType(const Object& array, const Object& type);

// The first value of an array.
std::byte* DataOf(const Object& array);

// An array of shape (n), or with `dim` above 0 of shape (n / dim, dim).
template <typename T>
Object ArrayFrom(const std::vector<T>& values, int64_t dim = 0) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  const auto size = static_cast<int64_t>(values.size());
  const Object shape = dim > 0 ? TupleOf({ToObject(size / dim), ToObject(dim)}) : ToObject(size);
  const Numpy& numpy = Numpy::Get();
  Object array = numpy.empty(shape, std::is_same_v<T, float> ? numpy.float32 : numpy.float64);
  if (size > 0) std::memcpy(DataOf(array), values.data(), values.size() * sizeof(T));
  return array;
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_ARRAY_H_
