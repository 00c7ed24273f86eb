#include "tools/server/samples/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>

namespace runnel::server {
namespace {

constexpr size_t kMaxSize = std::numeric_limits<int>::max();

bool IsDigit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

size_t PaddingOf(std::string_view text) {
  size_t count = 0;
  while (count < 2 && count < text.size() && text[text.size() - 1 - count] == '=') ++count;
  return count;
}

bool IsBase64(std::string_view text) {
  const auto padding = static_cast<ptrdiff_t>(PaddingOf(text));
  return text.size() % 4 == 0 && std::all_of(text.begin(), text.end() - padding, IsDigit);
}

}  // namespace

std::optional<std::string> DecodeBase64(std::string_view text) {
  // OpenSSL's decoder passes over white space at the ends and takes a minus for an end.
  if (text.size() > kMaxSize || !IsBase64(text)) return std::nullopt;
  const size_t padding = PaddingOf(text);
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

size_t JsonBase64Reader::PartSize(std::string_view rest, size_t count) {
  if (rest.size() <= count) return rest.size();
  // Even base64 has escapes: a slash may be written as \/.
  const size_t escape = rest.substr(0, count).rfind('\\');
  constexpr size_t kLongestEscape = 6;  // \u002f
  const bool is_cut = escape != std::string_view::npos && count - escape < kLongestEscape;
  return is_cut ? escape : count;
}

std::optional<std::string> JsonBase64Reader::Decode(std::string_view part, bool is_last) {
  if (part.find('\\') == std::string_view::npos) {
    rest_ += part;
  } else {
    const auto text = nlohmann::json::parse('"' + std::string(part) + '"', nullptr,
                                            /*allow_exceptions=*/false);
    if (!text.is_string()) return std::nullopt;
    rest_ += text.get_ref<const std::string&>();
  }
  const size_t size = is_last ? rest_.size() : rest_.size() / 4 * 4;
  const std::string_view groups = std::string_view(rest_).substr(0, size);
  // Padding is at the end only.
  if (!is_last && groups.find('=') != std::string_view::npos) return std::nullopt;
  std::optional<std::string> bytes = DecodeBase64(groups);
  rest_.erase(0, size);
  return bytes;
}

bool IsJsonBase64(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return IsBase64(text);
  constexpr size_t kPart = 65536;
  JsonBase64Reader reader;
  for (bool is_last = false; !is_last;) {
    const size_t size = JsonBase64Reader::PartSize(text, kPart);
    is_last = size == text.size();
    if (!reader.Decode(text.substr(0, size), is_last).has_value()) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace runnel::server
