#include "tools/server/dialects/wyoming_event.h"

#include <cstdint>
#include <limits>

#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using nlohmann::json;

// The line without its end; empty when that has not come yet.
std::optional<std::string_view> LineOf(std::string_view bytes) {
  const size_t end = bytes.substr(0, kMaxWyomingLineBytes + 1).find('\n');
  if (end != std::string_view::npos) return bytes.substr(0, end);
  if (bytes.size() <= kMaxWyomingLineBytes) return std::nullopt;
  throw ClientMistake(ErrorCode::kMessageTooLarge,
                      "the line of an event has more than " + std::to_string(kMaxWyomingLineBytes) +
                          " bytes; longer fields come after it (data_length)");
}

size_t ReadLength(const json& header, const char* field, size_t max) {
  const auto found = header.find(field);
  if (found == header.end() || found->is_null()) return 0;
  if (!found->is_number_unsigned()) {
    throw ClientMistake(ErrorCode::kBadMessage, std::string(field) + " is a " + found->type_name() +
                                                    " or negative, expected a number of bytes");
  }
  const auto length = found->get<uint64_t>();
  if (length > max) {
    throw ClientMistake(ErrorCode::kMessageTooLarge,
                        std::string(field) + " is " + std::to_string(length) +
                            ", expected at most " + std::to_string(max));
  }
  return static_cast<size_t>(length);
}

struct Header {
  std::string type;
  json data;
  size_t data_bytes = 0;
  size_t payload_bytes = 0;
};

Header ReadHeader(std::string_view line, size_t max_payload_bytes) {
  const json fields = ReadClientJson(line);
  Header header;
  const auto type = fields.find("type");
  if (type == fields.end() || !type->is_string()) {
    throw ClientMistake(ErrorCode::kBadMessage, R"(an event without a string "type")");
  }
  header.type = type->get<std::string>();
  const auto data = fields.find("data");
  header.data = data == fields.end() || data->is_null() ? json::object() : *data;
  if (!header.data.is_object()) {
    throw ClientMistake(
        ErrorCode::kBadMessage,
        std::string("data is a ") + header.data.type_name() + ", expected an object");
  }
  header.data_bytes = ReadLength(fields, "data_length", kMaxControlBytes);
  header.payload_bytes = ReadLength(fields, "payload_length", max_payload_bytes);
  return header;
}

}  // namespace

std::optional<WyomingFrame> ReadWyomingFrame(std::string_view bytes, size_t max_payload_bytes) {
  const std::optional<std::string_view> line = LineOf(bytes);
  if (!line.has_value()) return std::nullopt;
  const Header header = ReadHeader(*line, max_payload_bytes);
  const size_t json_size = line->size() + 1 + header.data_bytes;
  return WyomingFrame{header.type, json_size, json_size + header.payload_bytes};
}

WyomingEvent ReadWyomingEvent(std::string_view frame) {
  const std::string_view line = LineOf(frame).value_or(frame);
  Header header = ReadHeader(line, std::numeric_limits<size_t>::max());
  std::string_view rest = frame.substr(line.size());
  if (!rest.empty()) rest.remove_prefix(1);
  if (rest.size() < header.data_bytes || rest.size() - header.data_bytes != header.payload_bytes) {
    throw ClientMistake(ErrorCode::kBadMessage,
                        "an event has " + std::to_string(rest.size()) +
                            " bytes after its line, which announces another number");
  }
  if (header.data_bytes > 0) header.data.update(ReadClientJson(rest.substr(0, header.data_bytes)));
  return {std::move(header.type), std::move(header.data), rest.substr(header.data_bytes),
          frame.size()};
}

std::string WyomingText(const std::string& type, const OrderedJson& data) {
  OrderedJson header = {{"type", type}};
  if (data.empty()) return JsonText(header) + "\n";
  const std::string body = JsonText(data);
  header["data_length"] = body.size();
  return JsonText(header) + "\n" + body;
}

}  // namespace runnel::server
