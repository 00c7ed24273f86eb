// Arguments of Python functions as C++ values. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_
#define RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace runnel::python {

// The mono samples of a NumPy array, (n), float32 in [-1, 1] or int16, with any stride. It keeps
// the array alive.
class Samples {
 public:
  // Raises TypeError for another object or data type, ValueError for another number of dimensions.
  explicit Samples(const pybind11::object& samples);

  size_t size() const { return static_cast<size_t>(array_.shape(0)); }

  // Those from `begin` on, at most `count`. Needs no GIL.
  std::vector<float> Read(size_t begin, size_t count) const;
  std::vector<float> ReadAll() const { return Read(0, size()); }

 private:
  const pybind11::array array_;
  const bool is_float_;
};

// Feature frames, (n, dim) float32, as rows. Raises TypeError and ValueError likewise.
std::vector<float> FramesOf(const pybind11::object& frames, int dim);

// The path of a file: str or os.PathLike. Raises TypeError for another object, which names what is
// `expected`, and FileNotFoundError, or another OSError, when nothing has the path. "-" is standard
// input.
std::string ExistingFile(const pybind11::handle& path,
                         const char* expected = "a path (str or os.PathLike)");

// Raises TypeError "`name` is `value`, expected `expected`".
[[noreturn]] void RaiseTypeError(const std::string& name, const pybind11::handle& value,
                                 const std::string& expected);

// Raises ValueError "`name` is `value`, expected `expected`".
[[noreturn]] void RaiseValueError(const std::string& name, const pybind11::handle& value,
                                  const std::string& expected);

template <typename T>
constexpr const char* kKindOf = std::is_same_v<T, bool>       ? "True or False"
                                : std::is_integral_v<T>       ? "an integer"
                                : std::is_floating_point_v<T> ? "a number"
                                                              : "str";

// `value` as T; raises TypeError for another type, and ValueError for an integer beyond T.
template <typename T>
T ValueOf(const std::string& name, const pybind11::handle& value,
          const char* expected = kKindOf<T>) {
  try {
    return pybind11::cast<T>(value);
  } catch (const pybind11::cast_error&) {
    if constexpr (std::is_integral_v<T>) {
      if (PyLong_Check(value.ptr())) {
        RaiseValueError(name, value,
                        std::to_string(std::numeric_limits<T>::min()) + " to " +
                            std::to_string(std::numeric_limits<T>::max()));
      }
    }
    RaiseTypeError(name, value, expected);
  }
}

// Strictly True or False, of Python or NumPy.
template <>
bool ValueOf<bool>(const std::string& name, const pybind11::handle& value, const char* expected);

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_
