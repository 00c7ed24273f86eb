#include "runtime/python/object.h"

#include <cstring>

namespace runnel::python {
namespace {

// As PyList_SetItem and PyTuple_SetItem, which take over the reference.
template <typename SetItem>
Object Filled(PyObject* sequence, const std::vector<Object>& items, const SetItem& set_item) {
  Object filled = Object::Own(sequence);
  for (size_t i = 0; i < items.size(); ++i) {
    set_item(sequence, static_cast<Py_ssize_t>(i), Object(items[i]).Release());
  }
  return filled;
}

}  // namespace

void SetError(PyObject* type, const char* message) noexcept {
  PyObject* const text = PyUnicode_DecodeUTF8(
      message, static_cast<Py_ssize_t>(std::strlen(message)), "backslashreplace");
  if (text == nullptr) return;  // with the exception of the call
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void Raise(PyObject* type, const std::string& message) {
  SetError(type, message.c_str());
  throw ExceptionIsSet();
}

Object Import(const char* module) { return Object::Own(PyImport_ImportModule(module)); }

Object Call(const Object& callable, std::initializer_list<Named> arguments) {
  Keywords keywords;
  for (const Named& argument : arguments) keywords.Set(argument.name, argument.value);
  return Object::Own(PyObject_Call(callable.get(), TupleOf({}).get(), keywords.get()));
}

Object Bytes(const std::string& bytes) {
  return Object::Own(
      PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

Object TupleOf(const std::vector<Object>& items) {
  return Filled(PyTuple_New(static_cast<Py_ssize_t>(items.size())), items, &PyTuple_SetItem);
}

Object ListOf(const std::vector<Object>& items) {
  return Filled(PyList_New(static_cast<Py_ssize_t>(items.size())), items, &PyList_SetItem);
}

Object ToObject(const std::string& utf8) {
  return Object::Own(
      PyUnicode_FromStringAndSize(utf8.data(), static_cast<Py_ssize_t>(utf8.size())));
}

Object ToObject(const std::vector<std::string>& texts) {
  std::vector<Object> items;
  for (const std::string& text : texts) items.push_back(ToObject(text));
  return ListOf(items);
}

std::string TextOf(const Object& text) {
  return BytesOf(Object::Own(PyUnicode_AsUTF8String(text.get())));
}

std::string BytesOf(const Object& bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.get(), &data, &size) != 0) throw ExceptionIsSet();
  return {data, static_cast<size_t>(size)};
}

std::string StrOf(const Object& object) { return TextOf(Object::Own(PyObject_Str(object.get()))); }

std::string ReprOf(const Object& object) {
  return TextOf(Object::Own(PyObject_Repr(object.get())));
}

std::string ClassNameOf(const Object& object) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object.get()));
  return TextOf(Object::Share(type).Attribute("__name__"));
}

bool IsInstance(const Object& object, const Object& type) {
  const int is_instance = PyObject_IsInstance(object.get(), type.get());
  if (is_instance < 0) throw ExceptionIsSet();
  return is_instance == 1;
}

}  // namespace runnel::python
