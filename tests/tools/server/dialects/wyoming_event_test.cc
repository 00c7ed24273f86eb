#include "tools/server/dialects/wyoming_event.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using nlohmann::json;

constexpr size_t kMaxPayloadBytes = 100;

// The code of the mistake in these bytes; "" when there is none.
std::string MistakeIn(const std::string& bytes) {
  try {
    const auto frame = ReadWyomingFrame(bytes, kMaxPayloadBytes);
    if (frame.has_value() && frame->size <= bytes.size()) {
      ReadWyomingEvent(std::string_view(bytes).substr(0, frame->size));
    }
  } catch (const ClientMistake& mistake) {
    EXPECT_EQ(std::string(mistake.what()).find('\n'), std::string::npos);
    return CodeName(mistake.code());
  }
  return "";
}

TEST(WyomingEvent, LineDataAndPayload) {
  const std::string line =
      R"({"type":"a","data":{"x":1,"y":2},"data_length":7,"payload_length":3})";
  const std::string payload("\n\0z", 3);
  const std::string second = "{\"type\":\"b\"}\n";
  const std::string bytes = line + "\n{\"x\":5}" + payload + second;
  const auto frame = ReadWyomingFrame(bytes, kMaxPayloadBytes);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->type, "a");
  EXPECT_EQ(frame->json_size, line.size() + 1 + 7);
  ASSERT_EQ(frame->size, bytes.size() - second.size());
  const std::string_view all = bytes;
  const WyomingEvent event = ReadWyomingEvent(all.substr(0, frame->size));
  EXPECT_EQ(event.data, json({{"x", 5}, {"y", 2}}));
  EXPECT_EQ(event.payload, payload);
  const WyomingEvent next = ReadWyomingEvent(all.substr(frame->size));
  EXPECT_EQ(next.type, "b");
  EXPECT_EQ(next.data, json::object());
  EXPECT_EQ(next.payload, "");
}

// The size is known from the end of the line on, and is the same however much has arrived.
TEST(WyomingEvent, ArrivesByteByByte) {
  const std::string line = R"({"type":"a","data_length":7,"payload_length":2})";
  const std::string bytes = line + "\n{\"x\":5}ab";
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const auto frame = ReadWyomingFrame(std::string_view(bytes).substr(0, size), kMaxPayloadBytes);
    ASSERT_EQ(frame.has_value(), size > line.size()) << size;
    if (!frame.has_value()) continue;
    ASSERT_EQ(frame->size, bytes.size()) << size;
  }
}

TEST(WyomingEvent, Mistakes) {
  struct Case {
    std::string bytes;
    std::string code;
  };
  const std::string huge = std::to_string(int64_t{1} << 40);
  for (const Case& c : std::vector<Case>{
           {"\n", "bad_json"},
           {"x\n", "bad_json"},
           {"[]\n", "bad_json"},
           {"{\"type\":\"a\",\"type\":\"b\"}\n", "bad_json"},
           {"{\"type\":\"a\",\"data_length\":2}\n[]", "bad_json"},
           {"{}\n", "bad_message"},
           {"{\"type\":null}\n", "bad_message"},
           {"{\"type\":\"a\",\"data\":1}\n", "bad_message"},
           {"{\"type\":\"a\",\"data_length\":-1}\n", "bad_message"},
           {"{\"type\":\"a\",\"data_length\":1.0}\n", "bad_message"},
           {"{\"type\":\"a\",\"payload_length\":true}\n", "bad_message"},
           {"{\"type\":\"a\",\"payload_length\":1e30}\n", "bad_message"},
           {"{\"type\":\"a\",\"data_length\":" + huge + "}\n", "message_too_large"},
           {"{\"type\":\"a\",\"data_length\":65537}\n", "message_too_large"},
           {"{\"type\":\"a\",\"data_length\":65536}\n", ""},
           {"{\"type\":\"a\",\"payload_length\":101}\n", "message_too_large"},
           {"{\"type\":\"a\",\"payload_length\":100}\n", ""},
           {"{\"type\":\"a\",\"payload_length\":18446744073709551615}\n", "message_too_large"},
           {"{\"type\":\"a\",\"data_length\":null,\"data\":null}\n", ""},
           {std::string(kMaxWyomingLineBytes, ' '), ""},
           {std::string(kMaxWyomingLineBytes + 1, ' '), "message_too_large"},
           {std::string(kMaxWyomingLineBytes + 1, ' ') + '\n', "message_too_large"}}) {
    EXPECT_EQ(MistakeIn(c.bytes), c.code) << c.bytes.substr(0, 80);
  }
}

TEST(WyomingEvent, BytesThatAreNotOneEvent) {
  const std::string most = std::to_string(std::numeric_limits<uint64_t>::max());
  for (const std::string& bytes : std::vector<std::string>{
           "", "{\"type\":\"a\"}\nx", "{\"type\":\"a\",\"payload_length\":2}\nx",
           "{\"type\":\"a\",\"data_length\":2}\n{",
           "{\"type\":\"a\",\"payload_length\":" + most + "}\n",
           "{\"type\":\"a\",\"data_length\":2,\"payload_length\":" + most + "}\n{}"}) {
    EXPECT_THROW(ReadWyomingEvent(bytes), ClientMistake) << bytes;
  }
}

TEST(WyomingEvent, Text) {
  EXPECT_EQ(WyomingText("transcript-stop", OrderedJson::object()),
            "{\"type\":\"transcript-stop\"}\n");
  EXPECT_EQ(WyomingText("transcript", {{"text", "字\n\xFF"}}),
            "{\"type\":\"transcript\",\"data_length\":19}\n{\"text\":\"字\\n\uFFFD\"}");
}

}  // namespace
}  // namespace runnel::server
