#include "tools/server/protocol/protocol_error.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "tools/json/json_text.h"

namespace runnel::server {
namespace {

// WebSocket close codes.
constexpr int kPolicyViolation = 1008;
constexpr int kMessageTooBig = 1009;
constexpr int kInternalError = 1011;
constexpr int kTryAgainLater = 1013;

constexpr char kRequestError[] = "invalid_request_error";
constexpr char kServerError[] = "server_error";

}  // namespace

const char* CodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadJson:
      return "bad_json";
    case ErrorCode::kBadMessage:
      return "bad_message";
    case ErrorCode::kBadOption:
      return "bad_option";
    case ErrorCode::kUnknownVersion:
      return "unknown_version";
    case ErrorCode::kUnsupportedOrder:
      return "unsupported_order";
    case ErrorCode::kOddBytes:
      return "odd_bytes";
    case ErrorCode::kMessageTooLarge:
      return "message_too_large";
    case ErrorCode::kIdleTimeout:
      return "idle_timeout";
    case ErrorCode::kTimeLimit:
      return "time_limit";
    case ErrorCode::kAudioLimit:
      return "audio_limit";
    case ErrorCode::kRecordingTooLong:
      return "recording_too_long";
    case ErrorCode::kFull:
      return "full";
    case ErrorCode::kAddressFull:
      return "address_full";
    case ErrorCode::kUnauthorized:
      return "unauthorized";
    case ErrorCode::kDraining:
      return "draining";
    case ErrorCode::kSnapshotUnknown:
      return "snapshot_unknown";
    case ErrorCode::kSnapshotInvalid:
      return "snapshot_invalid";
    case ErrorCode::kStoreUnavailable:
      return "store_unavailable";
    case ErrorCode::kStreamFailed:
      return "stream_failed";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

int CloseCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMessageTooLarge:
      return kMessageTooBig;
    case ErrorCode::kFull:
    case ErrorCode::kAddressFull:
    case ErrorCode::kDraining:
    case ErrorCode::kStoreUnavailable:
      return kTryAgainLater;
    case ErrorCode::kStreamFailed:
    case ErrorCode::kInternal:
      return kInternalError;
    default:
      return kPolicyViolation;
  }
}

std::string ErrorText(const ProtocolError& error) {
  return JsonText(
      {{"type", "error"}, {"code", CodeName(error.code)}, {"message", Printable(error.message)}});
}

std::string CloseReason(const std::string& code, const ProtocolError& error) {
  constexpr size_t kMaxReasonBytes = 123;  // RFC 6455, section 5.5
  std::string reason = code + ": " + Printable(error.message);
  if (reason.size() <= kMaxReasonBytes) return reason;
  constexpr std::string_view kCut = "...";
  size_t size = kMaxReasonBytes - kCut.size();
  while (!BeginsCharacter(reason[size])) --size;
  reason.resize(size);
  return reason.append(kCut);
}

const char* ErrorType(ErrorCode code) {
  switch (CloseCode(code)) {
    case kInternalError:
    case kTryAgainLater:
      return kServerError;
    default:
      return kRequestError;
  }
}

std::string HttpErrorBody(int status, const std::string& code, const std::string& message,
                          const std::string& param) {
  return JsonText({{"error",
                    {{"message", Printable(message)},
                     {"type", status >= 500 ? kServerError : kRequestError},
                     {"param", param.empty() ? OrderedJson() : OrderedJson(Printable(param))},
                     {"code", code}}}});
}

}  // namespace runnel::server
