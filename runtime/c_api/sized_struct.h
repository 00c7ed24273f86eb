// Copies structs that begin with their size from and to programs that were compiled against another
// version of runtime/c_api.h.
#ifndef RUNNEL_RUNTIME_C_API_SIZED_STRUCT_H_
#define RUNNEL_RUNTIME_C_API_SIZED_STRUCT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "runtime/c_api.h"

namespace runnel::c_api {

// All sizes that a struct has had in releases, ascending, and last the present one. When a struct
// grows after a release, specialise this for it: {offsetof(Struct, first_new_field),
// sizeof(Struct)}.
template <typename Struct>
inline constexpr std::array<size_t, 1> kSizesOf = {sizeof(Struct)};
template <>
inline constexpr std::array<size_t, 2> kSizesOf<runnel_model_options> = {
    offsetof(runnel_model_options, step_threads), sizeof(runnel_model_options)};
template <>
inline constexpr std::array<size_t, 2> kSizesOf<runnel_stream_options> = {
    offsetof(runnel_stream_options, skip_silence_lead_s), sizeof(runnel_stream_options)};
template <>
inline constexpr std::array<size_t, 2> kSizesOf<runnel_token> = {offsetof(runnel_token, frame),
                                                                 sizeof(runnel_token)};

// Throws std::invalid_argument when no version of the struct up to this one has this size.
template <typename Struct>
void CheckSize(size_t struct_size, const char* name) {
  const auto& sizes = kSizesOf<Struct>;
  if (std::find(sizes.begin(), sizes.end(), struct_size) != sizes.end()) return;
  std::string expected;
  for (const size_t size : sizes) {
    expected += (expected.empty() ? "" : " or ") + std::to_string(size);
  }
  throw std::invalid_argument(
      std::string(name) + ".struct_size is " + std::to_string(struct_size) + ", expected " +
      expected +
      (struct_size > sizes.back() ? ": the program's header is newer than the library" : ""));
}

// Fills a struct of `struct_size` bytes, of any version, with the defaults. Fields that this
// library does not know become 0.
template <typename Struct>
void Initialise(const Struct& defaults, void* target, size_t struct_size) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (target == nullptr || struct_size < sizeof(struct_size)) return;
  std::memset(target, 0, struct_size);
  std::memcpy(target, &defaults, std::min(struct_size, sizeof(Struct)));
  std::memcpy(target, &struct_size, sizeof(struct_size));
}

// The caller's struct, with the defaults for fields that its version does not have. Throws as
// CheckSize does. `given` null: the defaults.
template <typename Struct>
Struct Read(const Struct* given, const Struct& defaults, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  Struct result = defaults;
  if (given != nullptr) {
    size_t struct_size = 0;
    std::memcpy(&struct_size, given, sizeof(struct_size));
    CheckSize<Struct>(struct_size, name);
    std::memcpy(&result, given, std::min(struct_size, sizeof(Struct)));
  }
  result.struct_size = sizeof(Struct);
  return result;
}

// Writes as much of `value` as the caller's version of the struct has fields for. Throws as
// CheckSize does, and when `target` is null.
template <typename Struct>
void Write(const Struct& value, Struct* target, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (target == nullptr) throw std::invalid_argument(std::string(name) + " is NULL");
  size_t struct_size = 0;
  std::memcpy(&struct_size, target, sizeof(struct_size));
  CheckSize<Struct>(struct_size, name);
  std::memcpy(static_cast<void*>(target), &value, std::min(struct_size, sizeof(Struct)));
  std::memcpy(static_cast<void*>(target), &struct_size, sizeof(struct_size));
}

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_SIZED_STRUCT_H_
