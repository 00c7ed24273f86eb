// The extension module runnel._runnel.
#include <pybind11/pybind11.h>

#include "runtime/python/bindings.h"
#include "runtime/python/computation.h"

PYBIND11_MODULE(_runnel, module) {
  module.doc() = "The C++ interface of Runnel. Import runnel instead.";
  module.attr("__version__") = RUNNEL_VERSION;
  pybind11::options options;
  options.disable_function_signatures();  // docstrings are those of _runnel.pyi
  Py_AtExit(&runnel::python::Computation::EndAll);
  runnel::python::BindErrors();
  runnel::python::BindAudio(&module);
  runnel::python::BindModel(&module);
  runnel::python::BindSearch(&module);
  runnel::python::BindStream(&module);
  runnel::python::BindRecognizer(&module);
  runnel::python::BindLiveStream(&module);
}
