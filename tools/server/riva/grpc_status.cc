#include "tools/server/riva/grpc_status.h"

namespace runnel::server {

int GrpcStatus(ErrorCode code) {
  constexpr int kInvalidArgument = 3;
  constexpr int kDeadlineExceeded = 4;
  constexpr int kResourceExhausted = 8;
  constexpr int kInternal = 13;
  constexpr int kUnavailable = 14;
  constexpr int kUnauthenticated = 16;
  switch (code) {
    case ErrorCode::kIdleTimeout:
    case ErrorCode::kTimeLimit:
      return kDeadlineExceeded;
    case ErrorCode::kMessageTooLarge:
    case ErrorCode::kAudioLimit:
    case ErrorCode::kRecordingTooLong:
    case ErrorCode::kFull:
    case ErrorCode::kAddressFull:
      return kResourceExhausted;
    case ErrorCode::kUnauthorized:
      return kUnauthenticated;
    case ErrorCode::kDraining:
    case ErrorCode::kStoreUnavailable:
      return kUnavailable;
    case ErrorCode::kStreamFailed:
    case ErrorCode::kInternal:
      return kInternal;
    default:
      return kInvalidArgument;
  }
}

}  // namespace runnel::server
