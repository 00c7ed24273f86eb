// Functions of C++ as functions of Python.
#ifndef RUNNEL_RUNTIME_PYTHON_FUNCTION_H_
#define RUNNEL_RUNTIME_PYTHON_FUNCTION_H_

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/python/gil.h"
#include "runtime/python/object.h"

namespace runnel::python {

// Sets the exception of Python that stands for the one of C++ that is being handled.
void SetException() noexcept;

// A parameter of a function of Python: any object.
struct Parameter {
  struct Required {};
  struct NoneByDefault {};
  // Implicit, so that {"a", "b"} is a list of parameters.
  Parameter(const char* parameter_name) : name(parameter_name) {}
  template <typename T>
  Parameter(const char* parameter_name, T value) : name(parameter_name) {
    if constexpr (std::is_integral_v<T>) {
      by_default = static_cast<int64_t>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      by_default = static_cast<double>(value);
    } else {
      by_default = value;
    }
  }

  std::string name;
  std::variant<Required, NoneByDefault, int64_t, double> by_default;
};
constexpr Parameter::NoneByDefault kNone;

// The parameters of a function of Python.
class Signature {
 public:
  Signature(std::initializer_list<Parameter> parameters,
            std::initializer_list<Parameter> keyword_only = {});

  size_t size() const { return parameters_.size(); }
  // The value of each parameter. Keywords that name none go to `others`; null: there may be none.
  // Raises TypeError where the arguments do not fit. `function`: for messages.
  std::vector<Object> Bind(const std::string& function, PyObject* arguments, PyObject* keywords,
                           Keywords* others) const;
  // As Python shows it, e.g. "(path, rate_hz, channel=-1)". `self`: "" or of a method.
  std::string Text(const std::string& self, bool has_others) const;

 private:
  std::vector<Parameter> parameters_;
  size_t num_positional_;
};

// A function as a type: &Function is Constant<&Function>().
template <auto kFunction>
struct Constant {};
template <auto kFunction>
constexpr Constant<kFunction> kCall;

// Result and parameters of functions, of those of classes with the object first, and of lambdas.
template <typename Function>
struct TypesOf : TypesOf<decltype(&Function::operator())> {
  using Parameters = typename TypesOf<decltype(&Function::operator())>::OfLambda;
};
template <typename Result, typename... All>
struct TypesOf<Result (*)(All...)> {
  using Parameters = std::tuple<All...>;
};
template <typename Result, typename Class, typename... All>
struct TypesOf<Result (Class::*)(All...)> {
  using Parameters = std::tuple<Class&, All...>;
  using OfLambda = std::tuple<All...>;
};
template <typename Result, typename Class, typename... All>
struct TypesOf<Result (Class::*)(All...) const> {
  using Parameters = std::tuple<const Class&, All...>;
  using OfLambda = std::tuple<All...>;
};
template <auto kFunction>
struct TypesOf<Constant<kFunction>> : TypesOf<decltype(kFunction)> {};

template <typename Function, size_t kIndex>
using ParameterOf = std::tuple_element_t<kIndex, typename TypesOf<Function>::Parameters>;
template <typename Function>
constexpr size_t kNumParameters = std::tuple_size_v<typename TypesOf<Function>::Parameters>;

template <typename Function>
constexpr bool HasKeywords() {
  if constexpr (kNumParameters<Function> == 0) {
    return false;
  } else {
    return std::is_same_v<std::decay_t<ParameterOf<Function, kNumParameters<Function> - 1>>,
                          Keywords>;
  }
}

// A lambda, or what kCall makes. Each has a type of its own, whose functions Python calls.
template <typename Function>
class Wrapped {
 public:
  // Once per function; they live as long as the process.
  static void Keep(const std::string& name, const Function& function, const Signature& signature) {
    kept_ = new Kept{name, function, signature};
  }
  static std::string Text(const std::string& self) {
    return kept_->signature.Text(self, HasKeywords<Function>());
  }

  // Calls the function with `first...`, then the objects of its signature, then other keywords.
  template <typename... First>
  static decltype(auto) Call(PyObject* arguments, PyObject* keywords, First&&... first) {
    std::optional<Keywords> others;
    if constexpr (HasKeywords<Function>()) others.emplace();
    const std::vector<Object> values =
        kept_->signature.Bind(kept_->name, arguments, keywords, others ? &*others : nullptr);
    constexpr size_t kNumObjects =
        kNumParameters<Function> - sizeof...(First) - (HasKeywords<Function>() ? 1 : 0);
    return CallWith(values, others, std::make_index_sequence<kNumObjects>(),
                    std::forward<First>(first)...);
  }
  // The same for a function that has no other parameters.
  template <typename... First>
  static decltype(auto) CallAlone(First&&... first) {
    return Invoke(kept_->function, std::forward<First>(first)...);
  }

 private:
  struct Kept {
    std::string name;
    Function function;
    Signature signature;
  };

  template <auto kFunction, typename... All>
  static decltype(auto) Invoke(const Constant<kFunction>& /*function*/, All&&... all) {
    return std::invoke(kFunction, std::forward<All>(all)...);
  }
  template <typename Lambda, typename... All>
  static decltype(auto) Invoke(const Lambda& lambda, All&&... all) {
    return lambda(std::forward<All>(all)...);
  }
  template <size_t... kIndices, typename... First>
  static decltype(auto) CallWith(const std::vector<Object>& values,
                                 const std::optional<Keywords>& others,
                                 std::index_sequence<kIndices...> /*indices*/, First&&... first) {
    if constexpr (HasKeywords<Function>()) {
      return Invoke(kept_->function, std::forward<First>(first)..., values[kIndices]..., *others);
    } else {
      static_cast<void>(values);
      static_cast<void>(others);
      return Invoke(kept_->function, std::forward<First>(first)..., values[kIndices]...);
    }
  }

  inline static const Kept* kept_ = nullptr;
};

// What Python calls: returns use(), or `failed` with an exception set.
template <typename Result, typename Use>
Result FromPython(Result failed, const Use& use) noexcept {
  const GilHolder holder;
  try {
    return use();
  } catch (abi::__forced_unwind&) {  // the interpreter ends
    StopThread();
  } catch (...) {
    SetException();
    return failed;
  }
}

// The object that `compute` returns; None if it returns nothing.
template <typename Compute>
Object ResultOf(const Compute& compute) {
  if constexpr (std::is_void_v<decltype(compute())>) {
    compute();
    return None();
  } else {
    return ToObject(compute());
  }
}

// What Python has of a function. `signature`: Signature::Text. Its text is never freed.
PyMethodDef Definition(const char* name, PyCFunctionWithKeywords call, int flags,
                       const std::string& signature, const std::string& doc);

// Keeps a function that gets no object before its arguments.
template <typename Function>
PyMethodDef FreeFunction(const char* name, const Function& function, int flags,
                         const Signature& signature, const std::string& doc) {
  Wrapped<Function>::Keep(name, function, signature);
  PyCFunctionWithKeywords call = [](PyObject*, PyObject* arguments, PyObject* keywords) {
    return FromPython<PyObject*>(nullptr, [&] {
      return ResultOf(
                 [&]() -> decltype(auto) { return Wrapped<Function>::Call(arguments, keywords); })
          .Release();
    });
  };
  return Definition(name, call, flags, Wrapped<Function>::Text(""), doc);
}

// Adds a function to a module.
template <typename Function>
void AddFunction(PyObject* module, const char* name, const Function& function,
                 const Signature& signature, const std::string& doc) {
  // Python keeps it for the life of the process.
  auto* const definition = new PyMethodDef(FreeFunction(name, function, 0, signature, doc));
  const Object module_name = Object::Own(PyModule_GetNameObject(module));
  const Object added = Object::Own(PyCFunction_NewEx(definition, nullptr, module_name.get()));
  if (PyObject_SetAttrString(module, name, added.get()) != 0) throw ExceptionIsSet();
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_FUNCTION_H_
