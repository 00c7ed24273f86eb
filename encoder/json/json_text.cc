#include "encoder/json/json_text.h"

#include <cstddef>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace runnel {
namespace {

// Sections of sections, with room to spare; the depth that recursive code has to bear.
constexpr int kMaxDepth = 32;
constexpr size_t kMaxShownBytes = 200;

// At most kMaxShownBytes of `text`, not cut inside a UTF-8 sequence.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxShownBytes) return text;
  size_t end = kMaxShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// Follows the parser through the text and notices a key that comes again in the same object.
class DuplicateCheck {
 public:
  DuplicateCheck(std::string source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  void Visit(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kMaxDepth) {
      throw std::runtime_error(source_ + ": " + name_ + " is nested deeper than " +
                               std::to_string(kMaxDepth) + " levels");
    }
    if (event == Event::object_start) open_.push_back({open_.empty() ? "" : open_.back().path, {}});
    if (event == Event::object_end) open_.pop_back();
    if (event != Event::key) return;
    Object& object = open_.back();
    const auto key = parsed.get<std::string>();
    const std::string section = open_.size() < 2 ? "" : open_[open_.size() - 2].path;
    object.path = JsonPath(section, key);
    if (object.keys.insert(key).second) return;
    throw std::runtime_error(source_ + ": " + object.path + " is given twice, expected once");
  }

 private:
  struct Object {
    std::string path;  // of the key that was read last
    std::set<std::string> keys;
  };

  const std::string source_;
  const std::string name_;
  std::vector<Object> open_;  // from the top level to the object being read
};

}  // namespace

nlohmann::json ParseJsonText(const std::string& text, const std::string& source,
                             const std::string& name) {
  DuplicateCheck check(source, name);
  try {
    return nlohmann::json::parse(text, [&check](int depth, nlohmann::json::parse_event_t event,
                                                const nlohmann::json& parsed) {
      check.Visit(depth, event, parsed);
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(source + ": " + name + " is not valid JSON (" +
                             Shortened(error.what()) + ")");
  }
}

std::string ShownJson(const nlohmann::json& value) { return Shortened(value.dump()); }

std::string JsonPath(const std::string& section, const std::string& key) {
  const std::string quoted = nlohmann::json(key).dump();  // a key may hold a line break
  const std::string text = Shortened(quoted.substr(1, quoted.size() - 2));
  return section.empty() ? text : section + "." + text;
}

}  // namespace runnel
