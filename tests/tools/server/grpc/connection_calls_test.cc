#include "tools/server/grpc/connection_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http2_bytes.h"

namespace runnel::server {
namespace {

using testing::FrameBytes;

constexpr CallPlaces::Time kStart{};
constexpr std::chrono::seconds kSecond{1};
constexpr size_t kMaxHeader = 2000;
const std::string kPreface(Http2Scanner::kClientPreface);

std::string Headers(uint32_t stream, uint8_t flags = Http2Frame::kEndHeaders) {
  return FrameBytes(Http2Frame::kHeaders, flags, stream, "header");
}

std::shared_ptr<void> AnyMemory(size_t /*num_bytes*/) { return std::make_shared<int>(); }

std::string Data(uint32_t stream, const std::string& data, uint8_t flags = 0) {
  return FrameBytes(Http2Frame::kData, flags, stream, data);
}

// What begins a message of gRPC.
std::string Prefix(uint32_t length) {
  std::string prefix(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) prefix += static_cast<char>(length >> shift & 0xFF);
  return prefix;
}

std::string Reset(uint32_t stream) { return FrameBytes(Http2Frame::kReset, 0, stream, "code"); }

// What gRPC gets instead of Headers(stream): the header ends with the name of the stream.
std::string NamedHeaders(uint32_t stream) {
  const std::string key = "runnel-http2-stream";
  const std::string value = std::to_string(stream);
  std::string field(1, '\0');
  for (const std::string& text : {key, value}) field += static_cast<char>(text.size()) + text;
  return Headers(stream, 0) +
         FrameBytes(Http2Frame::kContinuation, Http2Frame::kEndHeaders, stream, field);
}

class Connection {
 public:
  explicit Connection(int64_t most_of_account, ConnectionCalls::TakeMemory memory = &AnyMemory)
      : places(10, most_of_account),
        calls(&places, "a", kMaxHeader, std::move(memory), &progress) {}

  // What is passed on of the bytes, and of those that waited before.
  std::string Send(const std::string& bytes, CallPlaces::Time now = kStart) {
    rest += bytes;
    std::string_view left = rest;
    std::string passed;
    is_waiting = !calls.FromClient(&left, now, &passed);
    rest = left;
    return passed;
  }

  CallPlaces places;
  CallProgress progress;
  ConnectionCalls calls;
  std::string rest;
  bool is_waiting = false;
};

TEST(ConnectionCalls, ACallWaitsForAPlace) {
  Connection connection(/*most_of_account=*/1);
  const std::string data = FrameBytes(0, 0, 3, "data");
  EXPECT_EQ(connection.Send(kPreface + Headers(1) + Headers(3) + data), kPreface + NamedHeaders(1));
  EXPECT_TRUE(connection.is_waiting);
  EXPECT_EQ(connection.Send(""), "");
  connection.calls.FromServer(Headers(1, Http2Frame::kEndHeaders | Http2Frame::kEndStream));
  EXPECT_EQ(connection.Send(""), NamedHeaders(3) + data);
  EXPECT_FALSE(connection.is_waiting);
}

TEST(ConnectionCalls, WaitsWhereverTheBytesAreCut) {
  const std::string data = FrameBytes(0, 0, 3, "data");
  const std::string bytes = kPreface + Headers(1) + Headers(3) + data;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    Connection connection(/*most_of_account=*/1);
    const std::string passed = connection.Send(bytes.substr(0, cut));
    EXPECT_EQ(passed + connection.Send(bytes.substr(cut)), kPreface + NamedHeaders(1)) << cut;
    EXPECT_EQ(connection.Send(""), "");
    connection.calls.FromServer(Reset(1));
    EXPECT_EQ(connection.Send(""), NamedHeaders(3) + data);
  }
}

// However many frames it has. The header at the end of the messages (trailers) is not changed.
TEST(ConnectionCalls, TheHeaderOfACallNamesItsStream) {
  Connection connection(/*most_of_account=*/1);
  const auto part = [](uint8_t flags) {
    return FrameBytes(Http2Frame::kContinuation, flags, 1, "more");
  };
  const std::string name = NamedHeaders(1).substr(Headers(1).size());
  EXPECT_EQ(connection.Send(kPreface + Headers(1, Http2Frame::kEndStream) + part(0) +
                            part(Http2Frame::kEndHeaders) + Headers(1)),
            kPreface + Headers(1, Http2Frame::kEndStream) + part(0) + part(0) + name + Headers(1));
}

TEST(ConnectionCalls, CountsTheDataOfEachCall) {
  Connection connection(/*most_of_account=*/2);
  const std::string padded =
      Data(3, std::string(1, '\2') + "123" + std::string(2, '\0'), Http2Frame::kPadded);
  connection.Send(kPreface + Headers(1) + Headers(3) + Data(1, "1234567") + padded + Data(1, "8"));
  EXPECT_EQ(connection.progress.num_bytes(1), 8U);
  EXPECT_EQ(connection.progress.num_bytes(3), 3U);
  connection.Send(Reset(1));
  EXPECT_EQ(connection.progress.num_bytes(1), 0U);
}

TEST(ConnectionCalls, CallsThatAreResetKeepTheirPlacesForASecond) {
  Connection connection(/*most_of_account=*/2);
  const std::string begin = kPreface + Headers(1) + Reset(1) + Headers(3) + Reset(3);
  EXPECT_EQ(connection.Send(begin + Headers(5) + Reset(5)),
            kPreface + NamedHeaders(1) + Reset(1) + NamedHeaders(3) + Reset(3));
  EXPECT_EQ(connection.Send(""), "");
  EXPECT_EQ(connection.Send("", kStart + kSecond), NamedHeaders(5) + Reset(5));
}

TEST(ConnectionCalls, TrailersAndResetsOfOtherStreamsCountNothing) {
  Connection connection(/*most_of_account=*/1);
  connection.Send(kPreface + Headers(1) + Headers(1) + Reset(7));
  EXPECT_FALSE(connection.is_waiting);
  connection.calls.FromServer(FrameBytes(Http2Frame::kData, Http2Frame::kEndStream, 7, ""));
  EXPECT_FALSE(connection.places.Take("a", kStart));
}

TEST(ConnectionCalls, AConnectionThatEndsReturnsItsPlaces) {
  CallPlaces places(10, /*most_of_account=*/1);
  {
    CallProgress progress;
    ConnectionCalls calls(&places, "a", kMaxHeader, &AnyMemory, &progress);
    const std::string bytes = kPreface + Headers(1);
    std::string_view rest = bytes;
    std::string passed;
    EXPECT_TRUE(calls.FromClient(&rest, kStart, &passed));
  }
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(places.Take("a", kStart));
  EXPECT_TRUE(places.Take("a", now + kSecond));
}

constexpr size_t kMostExtras = 100;  // in a second

// Sends `frame` many times to a connection with the open call 5 and the closed call 3.
void ExpectRated(const std::string& frame) {
  Connection connection(/*most_of_account=*/10);
  connection.Send(kPreface + Headers(3) + Headers(5), kStart);
  connection.calls.FromServer(Reset(3));
  std::string bytes;
  for (size_t i = 0; i < 3 * kMostExtras; ++i) bytes += frame;
  EXPECT_EQ(connection.Send(bytes, kStart + kSecond).size(), kMostExtras * frame.size());
  EXPECT_TRUE(connection.is_waiting);
  EXPECT_EQ(connection.Send("", kStart + kSecond), "");
  EXPECT_EQ(connection.Send("", kStart + 2 * kSecond).size(), kMostExtras * frame.size());
}

TEST(ConnectionCalls, FramesThatDoNoWorkOfAnOpenCallAreRated) {
  constexpr uint8_t kPriority = 2;
  constexpr uint8_t kPushPromise = 5;
  for (const uint8_t type : {Http2Frame::kPing, Http2Frame::kSettings, kPriority, kPushPromise,
                             Http2Frame::kWindowUpdate, uint8_t{10}, uint8_t{255}}) {
    for (const uint8_t flags : {uint8_t{0}, Http2Frame::kAck}) {
      for (const uint32_t stream : {0U, 3U, 5U, 7U}) {
        SCOPED_TRACE(std::to_string(type) + " of stream " + std::to_string(stream));
        ExpectRated(FrameBytes(type, flags, stream, "12345678"));
      }
    }
  }
  for (const uint32_t closed : {1U, 3U}) {
    ExpectRated(Headers(closed));
    ExpectRated(Reset(closed));
    ExpectRated(Data(closed, "data"));
    ExpectRated(Data(closed, "data", Http2Frame::kEndStream));
  }
  ExpectRated(Headers(5));
  ExpectRated(Data(5, ""));
}

TEST(ConnectionCalls, TheWorkOfOpenCallsIsNotRated) {
  Connection connection(/*most_of_account=*/10);
  std::string bytes = kPreface + Headers(1);
  for (size_t i = 0; i < 10 * kMostExtras; ++i) bytes += Data(1, "d");
  bytes += Data(1, "", Http2Frame::kEndStream) + Headers(3) + Reset(3);
  EXPECT_EQ(connection.Send(bytes).size(),
            bytes.size() + NamedHeaders(1).size() + NamedHeaders(3).size() - 2 * Headers(1).size());
  EXPECT_FALSE(connection.is_waiting);
}

TEST(ConnectionCalls, WindowsMayGrowForTheDataThatTheServerSent) {
  Connection connection(/*most_of_account=*/10);
  connection.Send(kPreface + Headers(1));
  for (size_t i = 0; i < 5 * kMostExtras; ++i) connection.calls.FromServer(Data(1, "result"));
  const std::string update = FrameBytes(Http2Frame::kWindowUpdate, 0, 1, "size");
  std::string bytes;
  for (size_t i = 0; i < 20 * kMostExtras; ++i) bytes += update;
  EXPECT_EQ(connection.Send(bytes).size(), (10 + 1) * kMostExtras * update.size());
}

TEST(ConnectionCalls, AnswersToWhatTheServerAsksAreNotRated) {
  for (const uint8_t type : {Http2Frame::kPing, Http2Frame::kSettings}) {
    Connection connection(/*most_of_account=*/10);
    connection.Send(kPreface);
    const std::string ack = FrameBytes(type, Http2Frame::kAck, 0, "12345678");
    for (size_t i = 0; i < 5 * kMostExtras; ++i) {
      connection.calls.FromServer(FrameBytes(type, 0, 0, "12345678"));
      connection.calls.FromServer(ack);  // asks for nothing
    }
    std::string bytes;
    for (size_t i = 0; i < 20 * kMostExtras; ++i) bytes += ack;
    EXPECT_EQ(connection.Send(bytes).size(), (5 + 1) * kMostExtras * ack.size());
  }
}

// A client says it at most twice: with a stream that is to come, and with the last one.
TEST(ConnectionCalls, AClientThatGoesAwayAgainAndAgainIsCutOff) {
  const std::string goaway = FrameBytes(Http2Frame::kGoAway, 0, 0, "lastcode");
  Connection connection(/*most_of_account=*/10);
  connection.Send(kPreface + Headers(1));
  EXPECT_EQ(connection.Send(goaway + goaway), goaway + goaway);
  EXPECT_THROW(connection.Send(goaway), std::runtime_error);
}

TEST(ConnectionCalls, IsOverWhenTheClientGoesAwayAndHasNoCall) {
  const std::string goaway = FrameBytes(Http2Frame::kGoAway, 0, 0, "lastcode");
  Connection connection(/*most_of_account=*/10);
  connection.Send(kPreface);
  EXPECT_FALSE(connection.calls.is_over());
  connection.Send(Headers(1) + goaway);
  EXPECT_FALSE(connection.calls.is_over());
  connection.calls.FromServer(Headers(1, Http2Frame::kEndHeaders | Http2Frame::kEndStream));
  EXPECT_TRUE(connection.calls.is_over());
}

// However the frames that end a call are cut.
TEST(ConnectionCalls, IsOverAfterTheLastByteOfTheServer) {
  const std::string data = Data(1, "result", Http2Frame::kEndStream);
  const std::string trailers =
      Headers(1, Http2Frame::kEndStream) +
      FrameBytes(Http2Frame::kContinuation, Http2Frame::kEndHeaders, 1, "more");
  for (const std::string& end : {data, trailers}) {
    Connection connection(/*most_of_account=*/10);
    connection.Send(kPreface + Headers(1) + FrameBytes(Http2Frame::kGoAway, 0, 0, "lastcode"));
    for (size_t i = 0; i < end.size(); ++i) {
      EXPECT_FALSE(connection.calls.is_over()) << i;
      connection.calls.FromServer(end.substr(i, 1));
    }
    EXPECT_TRUE(connection.calls.is_over());
  }
}

// However the bytes are cut and padded.
TEST(ConnectionCalls, LargeMessagesTakeMemoryUntilTheNextHasComeOrTheEnd) {
  constexpr uint32_t kLarge = ConnectionCalls::kSmallMessage + 1;
  const std::string padding(3, '\0');
  const std::string bytes =
      kPreface + Headers(1) + Headers(3) +
      Data(1, Prefix(4) + "1234" + Prefix(kLarge).substr(0, 2)) +
      Data(3, Prefix(0) + Prefix(kLarge)) +
      Data(1, std::string(1, '\3') + Prefix(kLarge).substr(2) + "12" + padding,
           Http2Frame::kPadded) +
      Data(1, std::string(kLarge - 2, 'm') + Prefix(2 * kLarge) + "x");
  const std::string small = Prefix(3) + "1";  // its rest is still to come
  const std::vector<std::pair<size_t, std::string>> cases = {
      {1, ""}, {7, small}, {8192, ""}, {bytes.size(), small}};
  for (const auto& [piece, end] : cases) {
    std::vector<size_t> taken;
    std::vector<std::weak_ptr<void>> held;
    const auto take = [&](size_t num_bytes) {
      auto memory = std::make_shared<int>();
      taken.push_back(num_bytes);
      held.push_back(memory);
      return memory;
    };
    Connection connection(/*most_of_account=*/10, take);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      connection.Send(bytes.substr(at, piece));
      EXPECT_FALSE(connection.is_waiting);
    }
    EXPECT_EQ(taken, (std::vector<size_t>{kLarge, kLarge, 2 * kLarge}));
    for (const auto& memory : held) EXPECT_FALSE(memory.expired());
    connection.Send(Data(1, std::string(2 * kLarge - 1, 'm') + end));
    EXPECT_TRUE(held[1].expired());
    EXPECT_FALSE(held[2].expired());
    connection.calls.FromServer(Reset(3));
    EXPECT_TRUE(held[0].expired());
    EXPECT_FALSE(held[2].expired());
    connection.Send(Reset(1));
    EXPECT_TRUE(held[2].expired());
  }
}

TEST(ConnectionCalls, ALargeMessageWithoutMemoryEndsTheConnection) {
  Connection connection(/*most_of_account=*/10, [](size_t) { return nullptr; });
  connection.Send(kPreface + Headers(1) + Data(1, Prefix(ConnectionCalls::kSmallMessage)));
  EXPECT_NO_THROW(connection.Send(Data(1, std::string(ConnectionCalls::kSmallMessage, 'm'))));
  EXPECT_THROW(connection.Send(Data(1, Prefix(1 << 20))), std::runtime_error);
}

TEST(ConnectionCalls, ALargeHeaderIsRefused) {
  for (const size_t part : {size_t{0}, size_t{500}}) {
    Connection connection(/*most_of_account=*/10);
    EXPECT_NO_THROW(connection.Send(kPreface + Headers(1, 0)));
    const std::string frame = FrameBytes(Http2Frame::kContinuation, 0, 1, std::string(part, 'h'));
    EXPECT_THROW(
        {
          for (int i = 0; i < 100; ++i) connection.Send(frame);
        },
        std::runtime_error);
  }
}

}  // namespace
}  // namespace runnel::server
