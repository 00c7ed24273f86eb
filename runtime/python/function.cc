#include "runtime/python/function.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "runtime/python/locked.h"
#include "runtime/snapshot_error.h"

namespace runnel::python {
namespace {

void SetOwn(const char* name, const std::exception& error) {
  try {
    SetError(Import("runnel.errors").Attribute(name).get(), error.what());
  } catch (const ExceptionIsSet&) {  // that of the import
  }
}

std::string TextOf(const Parameter& parameter) {
  const auto& value = parameter.by_default;
  std::string text = parameter.name;
  if (std::holds_alternative<Parameter::NoneByDefault>(value)) text += "=None";
  if (const auto* integer = std::get_if<int64_t>(&value)) text += "=" + std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) text += "=" + ReprOf(ToObject(*number));
  return text;
}

Object DefaultOf(const Parameter& parameter) {
  return std::visit(
      [](const auto& value) -> Object {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<Value>) return ToObject(value);
        if constexpr (std::is_same_v<Value, Parameter::NoneByDefault>) return None();
        return {};
      },
      parameter.by_default);
}

[[noreturn]] void RaiseMisfit(const std::string& function, const char* problem,
                              const std::string& what) {
  Raise(PyExc_TypeError, function + "() " + problem + what);
}

}  // namespace

void SetException() noexcept {
  try {
    throw;
  } catch (const ExceptionIsSet&) {
  } catch (const Reentered& error) {
    SetError(PyExc_RuntimeError, error.what());
  } catch (const SnapshotError& error) {
    SetOwn("SnapshotError", error);
  } catch (const std::system_error& error) {
    SetError(PyExc_OSError, error.what());
  } catch (const std::runtime_error& error) {
    SetOwn("DataError", error);
  } catch (const std::invalid_argument& error) {
    SetError(PyExc_ValueError, error.what());
  } catch (const std::length_error& error) {
    SetError(PyExc_ValueError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    SetError(PyExc_RuntimeError, error.what());
  } catch (...) {
    SetError(PyExc_RuntimeError, "an exception that is no std::exception");
  }
}

Signature::Signature(std::initializer_list<Parameter> parameters,
                     std::initializer_list<Parameter> keyword_only)
    : parameters_(parameters), num_positional_(parameters.size()) {
  parameters_.insert(parameters_.end(), keyword_only.begin(), keyword_only.end());
}

std::vector<Object> Signature::Bind(const std::string& function, PyObject* arguments,
                                    PyObject* keywords, Keywords* others) const {
  std::vector<Object> values(parameters_.size());
  const auto num_given = static_cast<size_t>(PyTuple_Size(arguments));
  if (num_given > num_positional_) {
    RaiseMisfit(function, "takes fewer positional arguments than ", std::to_string(num_given));
  }
  for (size_t i = 0; i < num_given; ++i) {
    values[i] = Object::Share(PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i)));
  }
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (keywords != nullptr && PyDict_Next(keywords, &position, &key, &value) != 0) {
    const std::string name = python::TextOf(Object::Share(key));
    const auto found =
        std::find_if(parameters_.begin(), parameters_.end(),
                     [&name](const Parameter& parameter) { return parameter.name == name; });
    if (found != parameters_.end()) {
      Object& bound = values[static_cast<size_t>(found - parameters_.begin())];
      if (bound) RaiseMisfit(function, "got two values for ", name);
      bound = Object::Share(value);
    } else if (others != nullptr) {
      others->Set(name.c_str(), Object::Share(value));
    } else {
      RaiseMisfit(function, "got an unexpected keyword argument ", name);
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) values[i] = DefaultOf(parameters_[i]);
    if (!values[i]) RaiseMisfit(function, "needs the argument ", parameters_[i].name);
  }
  return values;
}

std::string Signature::Text(const std::string& self, bool has_others) const {
  std::string text = self;
  const auto add = [&text](const std::string& word) {
    if (!text.empty()) text += ", ";
    text += word;
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (i == num_positional_) add("*");
    add(TextOf(parameters_[i]));
  }
  if (has_others) add("**options");
  return "(" + text + ")";
}

PyMethodDef Definition(const char* name, PyCFunctionWithKeywords call, int flags,
                       const std::string& signature, const std::string& doc) {
  auto* const text = new std::string(name + signature + "\n--\n\n" + doc);
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
          METH_VARARGS | METH_KEYWORDS | flags, text->c_str()};
}

}  // namespace runnel::python
