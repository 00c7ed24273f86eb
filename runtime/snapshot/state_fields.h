// How what a stream remembers becomes bytes, and again what it was.
// Flow: packets -> frontend -> encoder -> runtime (this, below stream) -> tools.
//
// Each class that remembers something of a stream has a template
//   template <class Self, class Fields> static void VisitState(Self& self, Fields& fields);
// which shows its fields to a StateWriter (Self is const then) or a StateReader, in one order for
// both. So the classes of the frontend and the encoder need to know nothing of bytes. Where
// Fields::kReading is set it goes on to check what it was given, and to compute what was not
// written: any bytes whatever must leave the object fit to be used, or throw.
#ifndef RUNNEL_RUNTIME_STATE_FIELDS_H_
#define RUNNEL_RUNTIME_STATE_FIELDS_H_

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

// The widths that a snapshot knows.
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

  // The length of a list whose items follow, at least `bytes_each` bytes each.
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

// Throws SnapshotError where the bytes end early or are none that a StateWriter writes. Takes no
// more memory for a list than the bytes that are there can fill.
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
      Require(byte <= 1, "neither yes nor no");
      value = byte == 1;
    } else {
      static_assert(kIsStateNumber<T>);
      Bytes(&value, sizeof(value));
    }
  }

  size_t Count(size_t /*count*/, size_t bytes_each) {
    uint64_t count = 0;
    Value(count);
    Require(count <= bytes_.size() / bytes_each, "a list goes on beyond the end");
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
    Require(count <= bytes_.size(), "it ends early");
    if (count > 0) std::memcpy(bytes, bytes_.data(), count);
    bytes_.remove_prefix(count);
  }

  // `problem`: null where there is none.
  void Check(const char* problem) const { Require(problem == nullptr, problem); }
  void Require(bool condition, const char* problem) const {
    if (!condition) throw SnapshotError(std::string("snapshot is inconsistent: ") + problem);
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;  // that are left
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STATE_FIELDS_H_
