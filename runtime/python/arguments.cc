#include "runtime/python/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/python/class.h"

namespace runnel::python {
namespace {

constexpr float kInt16Scale = 1.0F / 32768;

// `count` values of T, `stride` bytes apart and perhaps unaligned, times `scale`.
template <typename T>
void Append(const std::byte* data, ptrdiff_t stride, size_t count, float scale,
            std::vector<float>* values) {
  values->resize(values->size() + count);
  float* const appended = values->data() + (values->size() - count);
  const auto append = [&](ptrdiff_t step) {
    for (size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, data + static_cast<ptrdiff_t>(i) * step, sizeof value);
      appended[i] = static_cast<float>(value) * scale;
    }
  };
  constexpr auto kClose = static_cast<ptrdiff_t>(sizeof(T));
  stride == kClose ? append(kClose) : append(stride);  // the first one in vectors
}

ArrayValues ValuesOf(const char* name, const Object& object, const char* types) {
  if (!IsInstance(object, Numpy::Get().array)) {
    Raise(PyExc_TypeError, std::string(name) + ": expected a NumPy array of " + types + ", got " +
                               ClassNameOf(object));
  }
  return ArrayValues(object);
}

[[noreturn]] void RaiseDataType(const char* name, const Object& array, const char* types) {
  Raise(PyExc_TypeError, std::string(name) + ": the data type is " +
                             StrOf(array.Attribute("dtype")) + ", expected " + types);
}

[[noreturn]] void RaiseShape(const char* name, const Object& array, const std::string& shape) {
  Raise(PyExc_ValueError, std::string(name) + ": the shape is " + StrOf(array.Attribute("shape")) +
                              ", expected " + shape);
}

// Raises for anything but an array of samples.
ArrayValues SampleValues(const Object& samples) {
  const char* types = "float32 in [-1, 1] or int16";
  ArrayValues values = ValuesOf("samples", samples, types);
  if (!values.Are<float>() && !values.Are<int16_t>()) {
    if (values.Are<double>()) {
      types = "float32 in [-1, 1], as samples.astype('float32'), or int16";
    }
    RaiseDataType("samples", samples, types);
  }
  if (values.num_dimensions() != 1) RaiseShape("samples", samples, "(n,): one channel");
  return values;
}

// An integer from T's least to its greatest.
template <typename T>
T IntegerOf(const std::string& name, const Object& value, const char* expected) {
  PyObject* const index = PyBool_Check(value.get()) ? nullptr : PyNumber_Index(value.get());
  if (index == nullptr) {
    PyErr_Clear();
    RaiseTypeError(name, value, expected);
  }
  const Object integer = Object::Own(index);
  int is_beyond = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer.get(), &is_beyond);
  using Limits = std::numeric_limits<T>;
  if (is_beyond != 0 || number < Limits::min() || number > Limits::max()) {
    RaiseValueError(name, value,
                    std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()));
  }
  return static_cast<T>(number);
}

}  // namespace

Samples::Samples(const Object& samples) : values_(SampleValues(samples)) {}

std::vector<float> Samples::Read(size_t begin, size_t count) const {
  count = std::min(count, size() - begin);
  const ptrdiff_t stride = values_.stride(0);
  const std::byte* const data = values_.data() + static_cast<ptrdiff_t>(begin) * stride;
  std::vector<float> values;
  if (values_.Are<float>()) {
    Append<float>(data, stride, count, 1, &values);
  } else {
    Append<int16_t>(data, stride, count, kInt16Scale, &values);
  }
  return values;
}

std::vector<float> FramesOf(const Object& frames, int dim) {
  const ArrayValues given = ValuesOf("frames", frames, "float32");
  if (!given.Are<float>()) RaiseDataType("frames", frames, "float32");
  if (given.num_dimensions() != 2 || given.size(1) != dim) {
    RaiseShape("frames", frames, "(n, " + std::to_string(dim) + ")");
  }
  std::vector<float> values;
  values.reserve(static_cast<size_t>(given.size(0) * dim));
  for (int64_t row = 0; row < given.size(0); ++row) {
    Append<float>(given.data() + row * given.stride(0), given.stride(1), static_cast<size_t>(dim),
                  1, &values);
  }
  return values;
}

std::shared_ptr<Model> ModelOf(const Object& object) {
  std::shared_ptr<Model> model = HeldBy<Model>(object);
  if (model == nullptr) RaiseTypeError("model", object, "a Model");
  return model;
}

std::string ExistingFile(const Object& path, const char* expected) {
  if (PyUnicode_Check(path.get()) == 0 && PyObject_HasAttrString(path.get(), "__fspath__") == 0) {
    Raise(PyExc_TypeError, std::string("expected ") + expected + ", got " + ClassNameOf(path));
  }
  std::string bytes = BytesOf(Import("os").Attribute("fsencode")(path));
  if (bytes.find('\0') != std::string::npos) {
    RaiseValueError("path", path, "a path without a null character");
  }
  if (bytes != "-" && access(bytes.c_str(), F_OK) != 0) {
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.get());
    throw ExceptionIsSet();
  }
  return bytes;
}

void RaiseTypeError(const std::string& name, const Object& value, const std::string& expected) {
  Raise(PyExc_TypeError, name + " is " + ReprOf(value) + ", expected " + expected);
}

void RaiseValueError(const std::string& name, const Object& value, const std::string& expected) {
  Raise(PyExc_ValueError, name + " is " + ReprOf(value) + ", expected " + expected);
}

template <>
bool ValueOf(const std::string& name, const Object& value, const char* expected) {
  if (PyBool_Check(value.get()) == 0 && !IsInstance(value, Numpy::Get().boolean)) {
    RaiseTypeError(name, value, expected);
  }
  return PyObject_IsTrue(value.get()) == 1;
}

template <>
int ValueOf(const std::string& name, const Object& value, const char* expected) {
  return IntegerOf<int>(name, value, expected);
}

template <>
int64_t ValueOf(const std::string& name, const Object& value, const char* expected) {
  return IntegerOf<int64_t>(name, value, expected);
}

template <>
double ValueOf(const std::string& name, const Object& value, const char* expected) {
  const double number = PyFloat_AsDouble(value.get());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    RaiseTypeError(name, value, expected);
  }
  return number;
}

template <>
float ValueOf(const std::string& name, const Object& value, const char* expected) {
  return static_cast<float>(ValueOf<double>(name, value, expected));
}

template <>
std::string ValueOf(const std::string& name, const Object& value, const char* expected) {
  if (PyUnicode_Check(value.get()) == 0) RaiseTypeError(name, value, expected);
  return TextOf(value);
}

}  // namespace runnel::python
