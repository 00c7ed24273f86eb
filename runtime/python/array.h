// NumPy arrays that own values computed in C++. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_ARRAY_H_
#define RUNNEL_RUNTIME_PYTHON_ARRAY_H_

#include <pybind11/numpy.h>

#include <memory>
#include <utility>
#include <vector>

namespace runnel::python {

// An array of shape (n), or with `dim` above 0 of shape (n / dim, dim). Copies nothing.
template <typename T>
pybind11::array_t<T> ArrayFrom(std::vector<T> values, pybind11::ssize_t dim = 0) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* raw = owned.get();
  const pybind11::capsule owner(
      raw, [](void* pointer) { delete static_cast<std::vector<T>*>(pointer); });
  static_cast<void>(owned.release());  // the capsule's now
  std::vector<pybind11::ssize_t> shape{static_cast<pybind11::ssize_t>(raw->size())};
  if (dim > 0) shape = {shape[0] / dim, dim};
  return pybind11::array_t<T>(shape, raw->data(), owner);
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_ARRAY_H_
