// Classes of C++ as classes of Python.
#ifndef RUNNEL_RUNTIME_PYTHON_CLASS_H_
#define RUNNEL_RUNTIME_PYTHON_CLASS_H_

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/python/function.h"

namespace runnel::python {

// An object of Python that holds a T; none before its __init__ has run.
template <typename T>
struct Instance {
  PyObject head;
  PyObject* weak_references;
  std::shared_ptr<T> value;
};

// The class of Python for T. A borrowed reference: it is never freed.
template <typename T>
inline PyObject* class_of = nullptr;

// The T of an object of its class, or of one derived from it; null for another object, and for one
// whose __init__ has not run.
template <typename T>
std::shared_ptr<T> HeldBy(PyObject* object) {
  auto* const type = reinterpret_cast<PyTypeObject*>(class_of<T>);
  if (PyObject_TypeCheck(object, type) == 0) return nullptr;
  return reinterpret_cast<Instance<T>*>(object)->value;
}
template <typename T>
std::shared_ptr<T> HeldBy(const Object& object) {
  return HeldBy<T>(object.get());
}

// A new object of the class of T or of one derived from it, without a T; null with an exception
// set.
template <typename T>
PyObject* NewInstance(PyTypeObject* type) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const object = allocate(type, 0);
  if (object != nullptr) new (&reinterpret_cast<Instance<T>*>(object)->value) std::shared_ptr<T>();
  return object;
}

// A new object of the class of T.
template <typename T>
Object ToObject(std::unique_ptr<T> value) {
  Object object = Object::Own(NewInstance<T>(reinterpret_cast<PyTypeObject*>(class_of<T>)));
  reinterpret_cast<Instance<T>*>(object.get())->value = std::move(value);
  return object;
}

// Collects what a class has; Add makes it. T has at most one class.
template <typename T>
class Class {
 public:
  Class(const char* name, const char* doc) : name_(name), doc_(doc) {}

  // __init__; `make` returns a pointer to a new T.
  template <typename Function>
  Class& Init(const Function& make, const Signature& signature) {
    Wrapped<Function>::Keep(name_, make, signature);
    doc_ = name_ + Wrapped<Function>::Text("") + "\n--\n\n" + doc_;
    initproc init = [](PyObject* self, PyObject* arguments, PyObject* keywords) {
      return FromPython(-1, [&] {
        std::shared_ptr<T> value = Wrapped<Function>::Call(arguments, keywords);
        std::swap(reinterpret_cast<Instance<T>*>(self)->value, value);
        return 0;
      });
    };
    has_init_ = true;
    return Slot(Py_tp_init, reinterpret_cast<void*>(init));
  }

  // A method. The first parameter of `function` is the T, or the object that holds it.
  template <typename Function>
  Class& Method(const char* name, const Function& function, const Signature& signature,
                const std::string& doc = "") {
    Wrapped<Function>::Keep(name, function, signature);
    PyCFunctionWithKeywords call = [](PyObject* self, PyObject* arguments, PyObject* keywords) {
      return FromPython<PyObject*>(nullptr, [&] {
        return WithSelf<Function>(self,
                                  [&](auto&& first) -> decltype(auto) {
                                    return Wrapped<Function>::Call(
                                        arguments, keywords, std::forward<decltype(first)>(first));
                                  })
            .Release();
      });
    };
    methods_->push_back(Definition(name, call, 0, Wrapped<Function>::Text("$self"), doc));
    return *this;
  }

  // A function of the class.
  template <typename Function>
  Class& Static(const char* name, const Function& function, const Signature& signature,
                const std::string& doc) {
    methods_->push_back(FreeFunction(name, function, METH_STATIC, signature, doc));
    return *this;
  }

  template <typename Function>
  Class& Property(const char* name, const Function& read, const char* doc) {
    Wrapped<Function>::Keep(name, read, {});
    getter get = [](PyObject* self, void*) {
      return FromPython<PyObject*>(nullptr, [&] { return Alone<Function>(self).Release(); });
    };
    properties_->push_back({name, get, nullptr, doc, nullptr});
    return *this;
  }

  template <typename Function>
  Class& Repr(const Function& describe) {
    Wrapped<Function>::Keep("__repr__", describe, {});
    reprfunc repr = [](PyObject* self) {
      return FromPython<PyObject*>(nullptr, [&] { return Alone<Function>(self).Release(); });
    };
    return Slot(Py_tp_repr, reinterpret_cast<void*>(repr));
  }

  // Iteration. `next` returns an Object without an object at the end.
  template <typename Function>
  Class& Next(const Function& next) {
    Wrapped<Function>::Keep("__next__", next, {});
    iternextfunc call = [](PyObject* self) {
      return FromPython<PyObject*>(nullptr, [&] { return Alone<Function>(self).Release(); });
    };
    Slot(Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter));
    return Slot(Py_tp_iternext, reinterpret_cast<void*>(call));
  }

  // `with`: `leave` gets the T.
  template <typename Function>
  Class& Context(const Function& leave) {
    Method("__enter__", [](const Object& self) { return self; }, {});
    return Method("__exit__",
                  [leave](T& self, const Object&, const Object&, const Object&) { leave(self); },
                  {"kind", "error", "trace"});
  }

  // For the garbage collector: T has Traverse(visit, arg), Finalize() and Clear().
  Class& Collected() {
    is_collected_ = true;
    traverseproc traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      const auto& value = reinterpret_cast<Instance<T>*>(self)->value;
      return value == nullptr ? 0 : value->Traverse(visit, arg);
    };
    destructor finalize = [](PyObject* self) {
      const KeptException kept;
      FromPython(0, [&] {
        if (const auto value = reinterpret_cast<Instance<T>*>(self)->value) value->Finalize();
        return 0;
      });
    };
    inquiry clear = [](PyObject* self) {
      return FromPython(0, [&] {
        if (const auto value = reinterpret_cast<Instance<T>*>(self)->value) value->Clear();
        return 0;
      });
    };
    Slot(Py_tp_traverse, reinterpret_cast<void*>(traverse));
    Slot(Py_tp_finalize, reinterpret_cast<void*>(finalize));
    return Slot(Py_tp_clear, reinterpret_cast<void*>(clear));
  }

  // Makes the class and adds it to the module.
  void AddTo(PyObject* module) {
    newfunc make = [](PyTypeObject* type, PyObject*, PyObject*) { return NewInstance<T>(type); };
    newfunc refuse = [](PyTypeObject* type, PyObject*, PyObject*) -> PyObject* {
      PyErr_Format(PyExc_TypeError, "%R is not made by a call", type);
      return nullptr;
    };
    destructor free = is_collected_ ? &FreeCollected : &Free;
    Slot(Py_tp_new, reinterpret_cast<void*>(has_init_ ? make : refuse));
    Slot(Py_tp_dealloc, reinterpret_cast<void*>(free));
    Slot(Py_tp_doc, const_cast<char*>(doc_.c_str()));
    methods_->push_back({});
    properties_->push_back({});
    Slot(Py_tp_methods, methods_->data());
    Slot(Py_tp_getset, properties_->data());
    static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET,
                                     offsetof(Instance<T>, weak_references), READONLY, nullptr},
                                    {}};
    Slot(Py_tp_members, members);
    slots_.push_back({0, nullptr});
    // Python 3.9 keeps the name.
    auto* const full_name =
        new std::string(TextOf(Object::Own(PyModule_GetNameObject(module))) + "." + name_);
    const unsigned flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | (is_collected_ ? Py_TPFLAGS_HAVE_GC : 0U);
    PyType_Spec spec{full_name->c_str(), sizeof(Instance<T>), 0, flags, slots_.data()};
    class_of<T> = Object::Own(PyType_FromSpec(&spec)).Release();
    if (PyObject_SetAttrString(module, name_.c_str(), class_of<T>) != 0) throw ExceptionIsSet();
  }

 private:
  Class& Slot(int slot, void* function) {
    slots_.push_back({slot, function});
    return *this;
  }

  // The result of use(self), where self is what the first parameter of Function takes.
  template <typename Function, typename Use>
  static Object WithSelf(PyObject* self, const Use& use) {
    using First = ParameterOf<Function, 0>;
    if constexpr (std::is_same_v<std::decay_t<First>, Object>) {
      return ResultOf([&]() -> decltype(auto) { return use(Object::Share(self)); });
    } else {
      const std::shared_ptr<T> value = reinterpret_cast<Instance<T>*>(self)->value;
      if (value == nullptr) {
        Raise(PyExc_TypeError,
              "__init__ of " + ReprOf(Object::Share(reinterpret_cast<PyObject*>(Py_TYPE(self)))) +
                  " has not run");
      }
      if constexpr (std::is_pointer_v<First>) {
        return ResultOf([&]() -> decltype(auto) { return use(value.get()); });
      } else if constexpr (std::is_same_v<std::decay_t<First>, std::shared_ptr<T>>) {
        return ResultOf([&]() -> decltype(auto) { return use(value); });
      } else {
        return ResultOf([&]() -> decltype(auto) { return use(*value); });
      }
    }
  }
  template <typename Function>
  static Object Alone(PyObject* self) {
    return WithSelf<Function>(self, [](auto&& first) -> decltype(auto) {
      return Wrapped<Function>::CallAlone(std::forward<decltype(first)>(first));
    });
  }

  static void Free(PyObject* self) {
    const GilHolder holder;
    const KeptException kept;
    auto* const instance = reinterpret_cast<Instance<T>*>(self);
    if (instance->weak_references != nullptr) PyObject_ClearWeakRefs(self);
    instance->value.~shared_ptr();
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
  }
  static void FreeCollected(PyObject* self) {
    PyObject_GC_UnTrack(self);  // the destructor releases the GIL
    Free(self);
  }

  const std::string name_;
  std::string doc_;
  bool has_init_ = false;
  bool is_collected_ = false;
  std::vector<PyType_Slot> slots_;
  // Python keeps these.
  std::vector<PyMethodDef>* const methods_ = new std::vector<PyMethodDef>();
  std::vector<PyGetSetDef>* const properties_ = new std::vector<PyGetSetDef>();
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_CLASS_H_
