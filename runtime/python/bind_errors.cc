#include <pybind11/pybind11.h>

#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "runtime/python/bindings.h"
#include "runtime/snapshot_error.h"

namespace runnel::python {
namespace {

void Raise(const char* name, const std::exception& error) {
  const pybind11::object type = pybind11::module_::import("runnel.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

// std::invalid_argument becomes ValueError and std::bad_alloc MemoryError, as in all modules of
// pybind11.
void Translate(std::exception_ptr thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const pybind11::builtin_exception&) {
    throw;  // a std::runtime_error that stands for an exception of Python
  } catch (const SnapshotError& error) {
    Raise("SnapshotError", error);
  } catch (const std::system_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const std::runtime_error& error) {
    Raise("DataError", error);
  }
}

}  // namespace

void BindErrors() { pybind11::register_local_exception_translator(&Translate); }

}  // namespace runnel::python
