// Arguments of Python functions as C++ values. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_
#define RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/model.h"
#include "runtime/python/array.h"
#include "runtime/python/object.h"

namespace runnel::python {

// The mono samples of a NumPy array, (n), float32 in [-1, 1] or int16, with any stride. It keeps
// the array alive.
class Samples {
 public:
  // Raises TypeError for another object or data type, ValueError for another number of dimensions.
  explicit Samples(const Object& samples);

  size_t size() const { return static_cast<size_t>(values_.size(0)); }

  // Those from `begin` on, at most `count`. Needs no GIL.
  std::vector<float> Read(size_t begin, size_t count) const;
  std::vector<float> ReadAll() const { return Read(0, size()); }

 private:
  const ArrayValues values_;
};

// Feature frames, (n, dim) float32, as rows. Raises TypeError and ValueError likewise.
std::vector<float> FramesOf(const Object& frames, int dim);

// The model of a runnel.Model. Raises TypeError for another object.
std::shared_ptr<Model> ModelOf(const Object& object);

// The path of a file: str or os.PathLike. Raises TypeError for another object, which names what is
// `expected`, and FileNotFoundError, or another OSError, when nothing has the path. "-" is standard
// input.
std::string ExistingFile(const Object& path, const char* expected = "a path (str or os.PathLike)");

// Raises TypeError "`name` is `value`, expected `expected`".
[[noreturn]] void RaiseTypeError(const std::string& name, const Object& value,
                                 const std::string& expected);

// Raises ValueError "`name` is `value`, expected `expected`".
[[noreturn]] void RaiseValueError(const std::string& name, const Object& value,
                                  const std::string& expected);

template <typename T>
constexpr const char* kKindOf = std::is_same_v<T, bool>       ? "True or False"
                                : std::is_integral_v<T>       ? "an integer"
                                : std::is_floating_point_v<T> ? "a number"
                                                              : "str";

// `value` as T; raises TypeError for another type, and ValueError for an integer beyond T.
template <typename T>
T ValueOf(const std::string& name, const Object& value, const char* expected = kKindOf<T>);

// Strictly True or False, of Python or NumPy.
template <>
bool ValueOf(const std::string& name, const Object& value, const char* expected);
template <>
int ValueOf(const std::string& name, const Object& value, const char* expected);
template <>
int64_t ValueOf(const std::string& name, const Object& value, const char* expected);
template <>
double ValueOf(const std::string& name, const Object& value, const char* expected);
template <>
float ValueOf(const std::string& name, const Object& value, const char* expected);
template <>
std::string ValueOf(const std::string& name, const Object& value, const char* expected);

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_ARGUMENTS_H_
