// Options from keyword arguments, by their tables (runtime/options/). Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_OPTION_KEYWORDS_H_
#define RUNNEL_RUNTIME_PYTHON_OPTION_KEYWORDS_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/options/option_row.h"
#include "runtime/python/arguments.h"
#include "runtime/python/object.h"

namespace runnel::python {

// The value of an option that is no OptionFile. Raises TypeError for another type, and for a path
// what ExistingFile raises.
template <typename Row>
OptionValue ValueFrom(const Row& option, const Object& value) {
  return std::visit(
      [&](const auto& field) -> OptionValue {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, typename Row::template Field<bool>>) {
          return ValueOf<bool>(option.name, value);
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<double>>) {
          return ValueOf<double>(option.name, value);
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<int>> ||
                             std::is_same_v<Field, typename Row::template Field<int64_t>>) {
          return ValueOf<int64_t>(option.name, value);
        } else if constexpr (std::is_same_v<Field, typename Row::Path>) {
          return ExistingFile(value);
        } else {
          return ValueOf<std::string>(option.name, value);
        }
      },
      option.field);
}

// Calls see(row, value) for each keyword that is not None. Raises TypeError, which names `type`,
// for one that is no option.
template <typename Row, typename See>
void ForEachKeyword(const std::vector<Row>& table, const Keywords& keywords, const char* type,
                    const See& see) {
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(keywords.get(), &position, &key, &value) != 0) {
    const std::string name = TextOf(Object::Share(key));
    const Row* const option = FindOption(table, name);
    if (option == nullptr) {
      Raise(PyExc_TypeError, "'" + name + "' is not an option, expected one of " + type);
    }
    if (value != Py_None) see(*option, Object::Share(value));
  }
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_OPTION_KEYWORDS_H_
