#include "encoder/json/json_text.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace runnel {
namespace {

using nlohmann::json;

// Sections of sections, with room to spare; the depth that recursive code has to bear.
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxShownBytes = 200;

// At most kMaxShownBytes of `text`, not cut inside a UTF-8 sequence.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxShownBytes) return text;
  size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// Receives the events of nlohmann's parser and builds the value. The library's own handlers do not
// notice a key that comes again; its parser with a callback does, but walks a whole array at the
// end of each of its objects (3.11.2).
class ValueBuilder {
 public:
  ValueBuilder(const std::string& source, const std::string& name, size_t max_values)
      : source_(source), name_(name), max_values_(max_values) {}

  json TakeValue() { return std::move(root_); }

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) { return Add(value); }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(json::binary_t& /*value*/) { return false; }  // not in JSON text

  bool start_object(size_t /*count*/) { return Open(json::object()); }
  bool start_array(size_t /*count*/) { return Open(json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& key) {
    Section& object = open_.back();
    const auto [member, is_new] = object.value->get_ref<json::object_t&>().emplace(key, nullptr);
    if (!is_new) Fail(PathOf(key) + " is given twice, expected once");
    object.key = &member->first;
    object.member = &member->second;
    return true;
  }

  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const json::exception& error) {
    Fail(name_ + " is not valid JSON (" + Shortened(error.what()) + ")");
  }

 private:
  // An object or array that is being read.
  struct Section {
    json* value;
    const std::string* key = nullptr;  // of the member that is read; null in an array
    json* member = nullptr;            // its value; null in an array
  };

  [[noreturn]] void Fail(const std::string& what) const {
    throw std::runtime_error(source_ + ": " + what);
  }

  // Of `key` in the innermost object. Arrays have no part in it.
  std::string PathOf(const std::string& key) const {
    std::string path;
    for (size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i].key != nullptr) path = JsonPath(path, *open_[i].key);
    }
    return JsonPath(path, key);
  }

  json* Place(json value) {
    if (++num_values_ > max_values_) {
      Fail(name_ + " has more than " + std::to_string(max_values_) + " values");
    }
    if (open_.empty()) return &(root_ = std::move(value));
    Section& section = open_.back();
    if (section.member != nullptr) return &(*section.member = std::move(value));
    return &section.value->get_ref<json::array_t&>().emplace_back(std::move(value));
  }

  bool Add(json value) {
    Place(std::move(value));
    return true;
  }

  bool Open(json value) {
    if (open_.size() >= kMaxDepth) {
      Fail(name_ + " is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    open_.push_back({Place(std::move(value))});
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  const std::string& source_;
  const std::string& name_;
  const size_t max_values_;
  json root_;
  size_t num_values_ = 0;
  std::vector<Section> open_;  // from the top level to the section being read
};

}  // namespace

json ParseJsonText(std::string_view text, const std::string& source, const std::string& name,
                   size_t max_values) {
  ValueBuilder builder(source, name, max_values);
  json::sax_parse(text, &builder);
  return builder.TakeValue();
}

std::string ShownJson(const json& value) { return Shortened(value.dump()); }

std::string JsonPath(const std::string& section, const std::string& key) {
  const std::string quoted = json(key).dump();  // a key may hold a line break
  const std::string text = Shortened(quoted.substr(1, quoted.size() - 2));
  return section.empty() ? text : section + "." + text;
}

}  // namespace runnel
