// The extension module runnel._runnel.
#include "runtime/python/bindings.h"
#include "runtime/python/computation.h"
#include "runtime/python/function.h"

namespace runnel::python {
namespace {

void AddAll(PyObject* module) {
  const Object version = ToObject(RUNNEL_VERSION);
  if (PyObject_SetAttrString(module, "__version__", version.get()) != 0) throw ExceptionIsSet();
  Py_AtExit(&Computation::EndAll);
  BindAudio(module);
  BindModel(module);
  BindSearch(module);
  BindStream(module);
  BindRecognizer(module);
  BindLiveStream(module);
}

}  // namespace
}  // namespace runnel::python

PyMODINIT_FUNC PyInit__runnel() {
  static PyModuleDef definition{PyModuleDef_HEAD_INIT,
                                "runnel._runnel",
                                "The C++ interface of Runnel. Import runnel instead.",
                                -1,
                                nullptr,
                                nullptr,
                                nullptr,
                                nullptr,
                                nullptr};
  using runnel::python::Object;
  return runnel::python::FromPython<PyObject*>(nullptr, [] {
    Object module = Object::Own(PyModule_Create(&definition));
    runnel::python::AddAll(module.get());
    return module.Release();
  });
}
