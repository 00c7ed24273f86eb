#include "tools/server/grpc/http2_frames.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "http2_bytes.h"

namespace runnel::server {
namespace {

using testing::FrameBytes;

TEST(Http2Scanner, FindsTheFramesInPiecesOfAnySize) {
  const std::string bytes = std::string(Http2Scanner::kClientPreface) + FrameBytes(4, 0, 0, "") +
                            FrameBytes(1, 4, 1, std::string(300, 'h')) +
                            FrameBytes(0, 1, 0x80000001, std::string(70000, 'd'));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, bytes.size()}) {
    Http2Scanner scanner(Http2Scanner::kClientPreface);
    std::vector<Http2Frame> frames;
    for (size_t i = 0; i < bytes.size(); i += piece) {
      std::string_view rest = std::string_view(bytes).substr(i, piece);
      while (const auto frame = scanner.Next(&rest)) frames.push_back(*frame);
      EXPECT_TRUE(rest.empty());
    }
    ASSERT_EQ(frames.size(), 3U) << piece;
    EXPECT_EQ(frames[1].type, Http2Frame::kHeaders);
    EXPECT_EQ(frames[1].flags, Http2Frame::kEndHeaders);
    EXPECT_EQ(frames[1].size, 300U);
    EXPECT_EQ(frames[2].stream, 1U);  // without the reserved bit
    EXPECT_EQ(frames[2].size, 70000U);
  }
}

TEST(Http2Scanner, RefusesOtherProtocols) {
  for (const std::string bytes : {"GET / HTTP/1.1\r\n", "PRI * HTTP/1.0\r\n", "\x16\x03\x01"}) {
    Http2Scanner scanner(Http2Scanner::kClientPreface);
    std::string_view rest = bytes;
    EXPECT_THROW(scanner.Next(&rest), std::runtime_error);
  }
}

}  // namespace
}  // namespace runnel::server
