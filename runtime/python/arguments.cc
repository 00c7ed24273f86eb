#include "runtime/python/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace py = pybind11;

namespace runnel::python {
namespace {

constexpr float kInt16Scale = 1.0F / 32768;

// `count` values of T, `stride` bytes apart and perhaps unaligned, times `scale`.
template <typename T>
void Append(const std::byte* data, py::ssize_t stride, size_t count, float scale,
            std::vector<float>* values) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data, sizeof value);
    values->push_back(static_cast<float>(value) * scale);
    data += stride;
  }
}

py::array ArrayOf(const char* name, const py::object& object, const char* types) {
  if (!py::isinstance<py::array>(object)) {
    throw py::type_error(std::string(name) + ": expected a NumPy array of " + types + ", got " +
                         Py_TYPE(object.ptr())->tp_name);
  }
  return py::reinterpret_borrow<py::array>(object);
}

[[noreturn]] void RaiseDataType(const char* name, const py::array& array, const char* types) {
  throw py::type_error(std::string(name) + ": the data type is " +
                       py::str(array.dtype()).cast<std::string>() + ", expected " + types);
}

[[noreturn]] void RaiseShape(const char* name, const py::array& array, const std::string& shape) {
  throw py::value_error(std::string(name) + ": the shape is " +
                        py::str(array.attr("shape")).cast<std::string>() + ", expected " + shape);
}

// An array of samples; raises for anything else.
py::array SampleArray(const py::object& samples) {
  const char* types = "float32 in [-1, 1] or int16";
  py::array array = ArrayOf("samples", samples, types);
  if (py::isinstance<py::array_t<double, 0>>(array)) {
    RaiseDataType("samples", array, "float32 in [-1, 1], as samples.astype('float32'), or int16");
  }
  if (!py::isinstance<py::array_t<float, 0>>(array) &&
      !py::isinstance<py::array_t<int16_t, 0>>(array)) {
    RaiseDataType("samples", array, types);
  }
  if (array.ndim() != 1) RaiseShape("samples", array, "(n,): one channel");
  return array;
}

}  // namespace

Samples::Samples(const py::object& samples)
    : array_(SampleArray(samples)), is_float_(py::isinstance<py::array_t<float, 0>>(array_)) {}

std::vector<float> Samples::Read(size_t begin, size_t count) const {
  count = std::min(count, size() - begin);
  const py::ssize_t stride = array_.strides(0);
  const auto* data = static_cast<const std::byte*>(array_.data());
  data += static_cast<py::ssize_t>(begin) * stride;
  std::vector<float> values;
  values.reserve(count);
  if (is_float_) {
    Append<float>(data, stride, count, 1, &values);
  } else {
    Append<int16_t>(data, stride, count, kInt16Scale, &values);
  }
  return values;
}

std::vector<float> FramesOf(const py::object& frames, int dim) {
  const py::array array = ArrayOf("frames", frames, "float32");
  if (!py::isinstance<py::array_t<float, 0>>(array)) RaiseDataType("frames", array, "float32");
  if (array.ndim() != 2 || array.shape(1) != dim) {
    RaiseShape("frames", array, "(n, " + std::to_string(dim) + ")");
  }
  const auto* data = static_cast<const std::byte*>(array.data());
  std::vector<float> values;
  for (py::ssize_t row = 0; row < array.shape(0); ++row) {
    Append<float>(data + row * array.strides(0), array.strides(1), static_cast<size_t>(dim), 1,
                  &values);
  }
  return values;
}

std::string ExistingFile(const py::handle& path, const char* expected) {
  if (!py::isinstance<py::str>(path) && !py::hasattr(path, "__fspath__")) {
    throw py::type_error(std::string("expected ") + expected + ", got " +
                         Py_TYPE(path.ptr())->tp_name);
  }
  auto bytes = py::module_::import("os").attr("fsencode")(path).cast<std::string>();
  if (bytes != "-" && access(bytes.c_str(), F_OK) != 0) {
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
    throw py::error_already_set();
  }
  return bytes;
}

void RaiseTypeError(const std::string& name, const py::handle& value, const std::string& expected) {
  throw py::type_error(name + " is " + py::repr(value).cast<std::string>() + ", expected " +
                       expected);
}

void RaiseValueError(const std::string& name, const py::handle& value,
                     const std::string& expected) {
  throw py::value_error(name + " is " + py::repr(value).cast<std::string>() + ", expected " +
                        expected);
}

template <>
bool ValueOf<bool>(const std::string& name, const py::handle& value, const char* expected) {
  const bool is_numpy = std::strcmp(Py_TYPE(value.ptr())->tp_name, "numpy.bool_") == 0;
  if (!PyBool_Check(value.ptr()) && !is_numpy) RaiseTypeError(name, value, expected);
  return PyObject_IsTrue(value.ptr()) == 1;
}

}  // namespace runnel::python
