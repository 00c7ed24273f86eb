// Writes the state of a stream to bytes and reads it back.
//
// Each class with state that belongs to a stream has a template
//   template <class Self, class Fields> static void VisitState(Self& self, Fields& fields);
// which passes its fields to a StateWriter (Self is const then) or a StateReader, in the same
// order. So the classes of the frontend and the encoder do not depend on the format. When
// Fields::kReading is set, VisitState also computes the values that are not stored and calls
// fields.Check with what is wrong with them: after any bytes the object must be safe to use, or
// VisitState must throw.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_STATE_FIELDS_H_
#define RUNNEL_RUNTIME_SNAPSHOT_STATE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/snapshot_error.h"

namespace runnel {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "snapshots are little-endian and written as they lie in memory");

// More samples, frames or utterances than any stream has. What is computed from so many, such as
// their times, does not overflow.
constexpr int64_t kMostCounted = int64_t{1} << 48;

// The types of numbers that a snapshot stores.
template <class T>
constexpr bool kIsStateNumber =
    std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, uint32_t> ||
    std::is_same_v<T, uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

class StateWriter {
 public:
  static constexpr bool kReading = false;

  template <class T>
  void Value(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      bytes_ += static_cast<char>(value ? 1 : 0);
    } else {
      static_assert(kIsStateNumber<T>);
      Bytes(&value, sizeof(value));
    }
  }

  // A number or an index of samples, frames or utterances.
  void Counter(int64_t value) { Value(value); }

  // The length of a list. Its items follow, at least `bytes_each` bytes each.
  size_t Count(size_t count, size_t /*bytes_each*/) {
    Value(static_cast<uint64_t>(count));
    return count;
  }

  template <class T>
  void Values(const std::vector<T>& values) {
    static_assert(kIsStateNumber<T>);
    Bytes(values.data(), Count(values.size(), sizeof(T)) * sizeof(T));
  }

  void Text(const std::string& text) { Bytes(text.data(), Count(text.size(), 1)); }

  void Bytes(const void* bytes, size_t count) {
    if (count > 0) bytes_.append(static_cast<const char*>(bytes), count);
  }

  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws SnapshotError when the bytes end early or a StateWriter cannot have written them. Takes no
// more memory for a list than the remaining bytes can fill.
class StateReader {
 public:
  static constexpr bool kReading = true;

  // `bytes` must outlive it.
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void Value(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      unsigned char byte = 0;
      Bytes(&byte, 1);
      Require(byte <= 1, "a flag is neither 0 nor 1");
      value = byte == 1;
    } else {
      static_assert(kIsStateNumber<T>);
      Bytes(&value, sizeof(value));
    }
  }

  void Counter(int64_t& value) {
    Value(value);
    Require(value >= 0 && value <= kMostCounted,
            "a number of samples, frames or utterances is out of range");
  }

  size_t Count(size_t /*count*/, size_t bytes_each) {
    uint64_t count = 0;
    Value(count);
    Require(count <= bytes_.size() / bytes_each, "a list is longer than the remaining bytes");
    return static_cast<size_t>(count);
  }

  template <class T>
  void Values(std::vector<T>& values) {
    static_assert(kIsStateNumber<T>);
    values.resize(Count(0, sizeof(T)));
    Bytes(values.data(), values.size() * sizeof(T));
  }

  void Text(std::string& text) {
    text.resize(Count(0, 1));
    Bytes(text.data(), text.size());
  }

  void Bytes(void* bytes, size_t count) {
    Require(count <= bytes_.size(), "the contents end early");
    if (count > 0) std::memcpy(bytes, bytes_.data(), count);
    bytes_.remove_prefix(count);
  }

  // Throws SnapshotError with `problem` unless it is "".
  static void Check(const std::string& problem) {
    if (!problem.empty()) throw SnapshotError("snapshot is inconsistent: " + problem);
  }
  static void Require(bool condition, const char* problem) {
    if (!condition) Check(problem);
  }

  bool at_end() const { return bytes_.empty(); }
  // The bytes that are not read yet.
  size_t num_bytes() const { return bytes_.size(); }

 private:
  std::string_view bytes_;  // not read yet
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_STATE_FIELDS_H_
