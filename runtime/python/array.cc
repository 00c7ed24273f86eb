#include "runtime/python/array.h"

namespace runnel::python {

const Numpy& Numpy::Get() {
  // Not made by an initializer: other threads would wait for its lock with the GIL, which an import
  // gives back. Never freed: the interpreter ends before the process.
  static const Numpy* numpy = nullptr;
  if (numpy == nullptr) {
    const Object module = Import("numpy");
    const Object type = module.Attribute("dtype");
    numpy = new Numpy{module.Attribute("ndarray"),
                      module.Attribute("bool_"),
                      type("float32"),
                      type("float64"),
                      type("int16"),
                      module.Attribute("empty")};
  }
  return *numpy;
}

bool HasType(const Object& array, const Object& type) {
  const Object own = array.Attribute("dtype");
  if (own.get() == type.get()) return true;  // as it is nearly always
  const int is_equal = PyObject_RichCompareBool(own.get(), type.get(), Py_EQ);
  if (is_equal < 0) throw ExceptionIsSet();
  return is_equal == 1;
}

std::byte* DataOf(const Object& array) {
  const Object interface = array.Attribute("__array_interface__");
  const Object data = Object::Share(PyDict_GetItemString(interface.get(), "data"));
  void* const address = PyLong_AsVoidPtr(PyTuple_GetItem(data.get(), 0));
  if (address == nullptr && PyErr_Occurred() != nullptr) throw ExceptionIsSet();
  return static_cast<std::byte*>(address);
}

}  // namespace runnel::python
