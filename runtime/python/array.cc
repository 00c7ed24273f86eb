#include "runtime/python/array.h"

namespace runnel::python {

const Numpy& Numpy::Get() {
  // Not made by an initializer: other threads would wait for its lock with the GIL, which an import
  // gives back. Never freed: the interpreter ends before the process.
  static const Numpy* numpy = nullptr;
  if (numpy == nullptr) {
    const Object module = Import("numpy");
    numpy = new Numpy{module.Attribute("ndarray"), module.Attribute("bool_"),
                      module.Attribute("asarray"), Import("types").Attribute("SimpleNamespace"),
                      Object::Own(PyUnicode_InternFromString("__array_struct__"))};
  }
  return *numpy;
}

ArrayValues::ArrayValues(const Object& array)
    : capsule_(Object::Own(PyObject_GetAttr(array.get(), Numpy::Get().array_struct.get()))),
      interface_(static_cast<const Interface*>(PyCapsule_GetPointer(capsule_.get(), nullptr))) {
  if (interface_ == nullptr) throw ExceptionIsSet();
}

Object ArrayOf(const void* data, int64_t size, int64_t dim, const char* kind, const Object& owner) {
  Keywords interface;
  interface.Set("version", ToObject(3));
  interface.Set("typestr", ToObject(kind));
  interface.Set("shape", dim > 0 ? TupleOf({ToObject(size / dim), ToObject(dim)})
                                 : TupleOf({ToObject(size)}));
  const Object address = Object::Own(PyLong_FromVoidPtr(const_cast<void*>(data)));
  interface.Set("data", TupleOf({address, ToObject(false)}));
  const Numpy& numpy = Numpy::Get();
  return numpy.as_array(
      Call(numpy.namespace_, {{"__array_interface__", interface}, {"owner", owner}}));
}

}  // namespace runnel::python
