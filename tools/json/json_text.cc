#include "tools/json/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/text/utf8.h"
#include "tools/cli/decimal.h"

namespace runnel {
namespace {

// Smaller numbers fit an int64_t of ten-thousandths.
constexpr double kMaxFixedPoint = 1e11;

// Whether the text needs no escape in a JSON string.
bool IsPlain(std::string_view text) {
  return IsUtf8(text) && std::none_of(text.begin(), text.end(), [](unsigned char byte) {
           return byte < 0x20 || byte == '"' || byte == '\\';
         });
}

}  // namespace

std::string JsonText(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

void AppendString(std::string_view text, std::string* json) {
  if (!IsPlain(text)) {
    *json += JsonText(text);
    return;
  }
  *json += '"';
  *json += text;
  *json += '"';
}

void AppendNumber(double value, std::string* json) {
  if (!(std::abs(value) < kMaxFixedPoint)) {
    *json += JsonText(Rounded(value));
    return;
  }
  const int64_t ten_thousandths = std::llround(value * 1e4);
  if (ten_thousandths < 0) *json += '-';
  const uint64_t size = static_cast<uint64_t>(std::abs(ten_thousandths));
  *json += std::to_string(size / 10000);
  std::string decimals = std::to_string(10000 + size % 10000);
  decimals[0] = '.';
  while (decimals.size() > 2 && decimals.back() == '0') decimals.pop_back();
  *json += decimals;
}

void BeginField(std::string_view name, std::string* object) {
  object->back() = ',';
  AppendString(name, object);
  *object += ':';
}

}  // namespace runnel
