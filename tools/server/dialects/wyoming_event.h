// The events of the Wyoming protocol: a line of JSON, then JSON data, then bytes.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_EVENT_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_EVENT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/json/json_text.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// The most bytes of the line of an event. Known clients put longer fields behind it.
constexpr size_t kMaxWyomingLineBytes = kShortTextBytes;

// An event that begins a buffer. Its bytes need not be there yet.
struct WyomingFrame {
  std::string type;
  size_t json_size = 0;  // bytes of line and data
  size_t size = 0;       // bytes of line, data and payload
};

// Reads the line at the beginning of `bytes`; empty when its end has not come yet. The line has at
// most kMaxWyomingLineBytes, the data kMaxControlBytes. Throws ClientMistake when the line is
// longer or is no event, or when it announces more data or payload than permitted.
std::optional<WyomingFrame> ReadWyomingFrame(std::string_view bytes, size_t max_payload_bytes);

struct WyomingEvent {
  std::string type;
  nlohmann::json data;       // an object: the fields of the line's data, then those after the line
  std::string_view payload;  // the last of the bytes that were read
  size_t size = 0;           // of all bytes
};

// `frame`: all bytes of one event. Throws ClientMistake when it is none, or has another size.
WyomingEvent ReadWyomingEvent(std::string_view frame);

// An event without payload. `data` is an object and may be empty.
std::string WyomingText(const std::string& type, const OrderedJson& data);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_EVENT_H_
