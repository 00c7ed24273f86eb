// NumPy arrays, by their array interface (NumPy's documentation, "The array interface protocol").
// Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_ARRAY_H_
#define RUNNEL_RUNTIME_PYTHON_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/python/object.h"

namespace runnel::python {

// What is used of Python to make and to read arrays.
struct Numpy {
  // Looked up in the first call.
  static const Numpy& Get();

  Object array;  // the classes
  Object boolean;
  Object as_array;      // the function
  Object namespace_;    // types.SimpleNamespace
  Object array_struct;  // the name of an attribute
};

// The values of an array. Keeps the array alive.
class ArrayValues {
 public:
  // `array` is of the class Numpy::array.
  explicit ArrayValues(const Object& array);

  // Whether the values are numbers of type T, in the byte order of the machine.
  template <typename T>
  bool Are() const {
    static_assert(std::is_floating_point_v<T> || std::is_signed_v<T>);
    constexpr int kNotSwapped = 0x200;
    return interface_->kind == (std::is_floating_point_v<T> ? 'f' : 'i') &&
           interface_->value_size == sizeof(T) && (interface_->flags & kNotSwapped) != 0;
  }
  size_t num_dimensions() const { return static_cast<size_t>(interface_->num_dimensions); }
  int64_t size(size_t dimension) const { return interface_->shape[dimension]; }
  ptrdiff_t stride(size_t dimension) const { return interface_->strides[dimension]; }  // bytes
  const std::byte* data() const { return static_cast<const std::byte*>(interface_->data); }

 private:
  struct Interface {  // PyArrayInterface
    int two;
    int num_dimensions;
    char kind;
    int value_size;  // bytes
    int flags;
    Py_ssize_t* shape;
    Py_ssize_t* strides;
    void* data;
    PyObject* description;
  };

  Object capsule_;
  const Interface* interface_;
};

// An array of `size` values at `data`, which `owner` keeps alive: of shape (size), or with `dim`
// above 0 of shape (size / dim, dim). kind: "<f4", "<f8".
Object ArrayOf(const void* data, int64_t size, int64_t dim, const char* kind, const Object& owner);

// The same with the values themselves, which are not copied.
template <typename T>
Object ArrayFrom(std::vector<T> values, int64_t dim = 0) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  values.reserve(1);  // NumPy does not take the null pointer of an empty vector
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const Object owner = Object::Own(PyCapsule_New(kept.get(), nullptr, [](PyObject* capsule) {
    delete static_cast<std::vector<T>*>(PyCapsule_GetPointer(capsule, nullptr));
  }));
  const std::vector<T>& owned = *kept.release();
  return ArrayOf(owned.data(), static_cast<int64_t>(owned.size()), dim,
                 sizeof(T) == sizeof(float) ? "<f4" : "<f8", owner);
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_ARRAY_H_
