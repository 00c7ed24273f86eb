#include "tools/server/grpc/http2_frames.h"

#include <algorithm>
#include <stdexcept>

namespace runnel::server {
namespace {

constexpr uint32_t kStreamBits = 0x7FFFFFFF;  // without the reserved bit

size_t TakeFront(size_t most, std::string_view* bytes) {
  const size_t size = std::min(most, bytes->size());
  bytes->remove_prefix(size);
  return size;
}

}  // namespace

std::string HeaderBytes(const Http2Frame& frame) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(frame.size >> shift & 0xFF);
  bytes += static_cast<char>(frame.type);
  bytes += static_cast<char>(frame.flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(frame.stream >> shift & 0xFF);
  return bytes;
}

std::string_view Http2Scanner::TakePreface(std::string_view* bytes) {
  const std::string_view begin = bytes->substr(0, preface_.size());
  if (begin != preface_.substr(0, begin.size())) {
    throw std::runtime_error("the client does not speak HTTP/2");
  }
  preface_.remove_prefix(TakeFront(begin.size(), bytes));
  return begin;
}

std::optional<Http2Frame> Http2Scanner::Next(std::string_view* bytes) {
  TakePreface(bytes);
  TakePayload(bytes);
  while (header_size_ < kHeaderBytes && !bytes->empty()) {
    header_[header_size_++] = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
  }
  if (header_size_ < kHeaderBytes) return std::nullopt;
  header_size_ = 0;
  const auto byte = [this](size_t i) { return static_cast<uint32_t>(header_[i]); };
  Http2Frame frame;
  frame.size = byte(0) << 16 | byte(1) << 8 | byte(2);
  frame.type = header_[3];
  frame.flags = header_[4];
  frame.stream = (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) & kStreamBits;
  rest_ = frame.size;
  return frame;
}

std::string_view Http2Scanner::TakePayload(std::string_view* bytes) {
  const std::string_view payload = bytes->substr(0, rest_);
  rest_ -= TakeFront(rest_, bytes);
  return payload;
}

size_t MessageScanner::Read(std::string_view data) {
  size_t longest = 0;
  for (;;) {
    rest_ -= TakeFront(rest_, &data);
    if (data.empty()) return longest;
    prefix_[prefix_size_++] = static_cast<uint8_t>(data.front());
    data.remove_prefix(1);
    if (prefix_size_ < kPrefixBytes) continue;
    prefix_size_ = 0;
    for (size_t i = 1; i < kPrefixBytes; ++i) rest_ = rest_ << 8 | prefix_[i];
    longest = std::max(longest, rest_);
  }
}

}  // namespace runnel::server
