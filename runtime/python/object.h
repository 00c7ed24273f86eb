// Objects of Python, by the C interface that every CPython from 3.9 on has (the limited C
// interface, so that one module serves them all). Everything here needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_OBJECT_H_
#define RUNNEL_RUNTIME_PYTHON_OBJECT_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace runnel::python {

// Thrown when an exception of Python is set (PyErr_Occurred).
struct ExceptionIsSet {};

// A reference to an object, or none at all.
class Object {
 public:
  Object() = default;
  // Takes over a reference. Throws ExceptionIsSet for null, which functions of Python return then.
  static Object Own(PyObject* object) {
    if (object == nullptr) throw ExceptionIsSet();
    return Object(object);
  }
  // Another reference to the object, or to none.
  static Object Share(PyObject* object) {
    Py_XINCREF(object);
    return Object(object);
  }
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(other.Release()) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool is_none() const { return object_ == Py_None; }

  // Gives the reference away.
  PyObject* Release() { return std::exchange(object_, nullptr); }

  Object Attribute(const char* name) const { return Own(PyObject_GetAttrString(object_, name)); }

  // Calls the object.
  template <typename... Arguments>
  Object operator()(const Arguments&... arguments) const;

 private:
  explicit Object(PyObject* object) : object_(object) {}

  PyObject* object_ = nullptr;
};

// Keyword arguments, a dict.
class Keywords : public Object {
 public:
  Keywords() : Object(Own(PyDict_New())) {}

  // The value of a keyword that is there.
  Object operator[](const char* name) const { return Share(PyDict_GetItemString(get(), name)); }
  void Set(const char* name, const Object& value) {
    if (PyDict_SetItemString(get(), name, value.get()) != 0) throw ExceptionIsSet();
  }
};

// Keeps the exception that is set, if any, while other calls of Python run.
class KeptException {
 public:
  KeptException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~KeptException() { PyErr_Restore(type_, value_, traceback_); }
  KeptException(const KeptException&) = delete;
  KeptException& operator=(const KeptException&) = delete;

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

// Sets an exception. A message may quote bytes of a file or of a path that are not UTF-8.
void SetError(PyObject* type, const char* message) noexcept;
[[noreturn]] void Raise(PyObject* type, const std::string& message);

Object Import(const char* module);
inline Object None() { return Object::Share(Py_None); }
Object Bytes(const std::string& bytes);
Object TupleOf(const std::vector<Object>& items);
Object ListOf(const std::vector<Object>& items);

// Values of C++ as objects of Python.
inline Object ToObject(const Object& object) { return object; }
Object ToObject(const std::string& utf8);
inline Object ToObject(const char* utf8) { return ToObject(std::string(utf8)); }
Object ToObject(const std::vector<std::string>& texts);  // a list
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Object ToObject(T value) {
  if constexpr (std::is_same_v<T, bool>) return Object::Own(PyBool_FromLong(value ? 1 : 0));
  if constexpr (std::is_floating_point_v<T>) return Object::Own(PyFloat_FromDouble(value));
  if constexpr (std::is_unsigned_v<T>) return Object::Own(PyLong_FromUnsignedLongLong(value));
  return Object::Own(PyLong_FromLongLong(static_cast<long long>(value)));
}
template <typename T>
Object ToObject(const std::optional<T>& value) {
  return value ? ToObject(*value) : None();
}

// A keyword argument.
struct Named {
  template <typename T>
  Named(const char* argument_name, const T& argument)
      : name(argument_name), value(ToObject(argument)) {}

  const char* name;
  Object value;
};
// Calls with keyword arguments alone.
Object Call(const Object& callable, std::initializer_list<Named> arguments);

// The UTF-8 of a str. Raises TypeError for another object.
std::string TextOf(const Object& text);
// Raises TypeError for anything but bytes.
std::string BytesOf(const Object& bytes);
// str(object), repr(object) and the name of its class, for messages.
std::string StrOf(const Object& object);
std::string ReprOf(const Object& object);
std::string ClassNameOf(const Object& object);

bool IsInstance(const Object& object, const Object& type);

template <typename... Arguments>
Object Object::operator()(const Arguments&... arguments) const {
  return Own(PyObject_CallObject(object_, TupleOf({ToObject(arguments)...}).get()));
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_OBJECT_H_
