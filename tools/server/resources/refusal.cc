#include "tools/server/resources/refusal.h"

namespace runnel::server {

ProtocolError RefusalError(Refusal refusal, Metrics* metrics) {
  switch (refusal) {
    case Refusal::kDraining:
      metrics->CountRejection(Rejection::kDraining);
      return {ErrorCode::kDraining, "the server is shutting down"};
    case Refusal::kAddress:
      metrics->CountRejection(Rejection::kAddressFull);
      return {ErrorCode::kAddressFull, "too many streams from this address"};
    case Refusal::kUploads:
      metrics->CountRejection(Rejection::kUploadsFull);
      return {ErrorCode::kFull, "too many recordings at the same time"};
    case Refusal::kMediaStreams:
      metrics->CountRejection(Rejection::kMediaStreamsFull);
      return {ErrorCode::kFull, "too many streams in a compressed format; Ogg Opus has room"};
    case Refusal::kConnections:
      metrics->CountRejection(Rejection::kConnectionsFull);
      return {ErrorCode::kFull, "too many connections"};
    case Refusal::kAddressConnections:
      metrics->CountRejection(Rejection::kAddressConnectionsFull);
      return {ErrorCode::kAddressFull, "too many connections from this address"};
    case Refusal::kStreams:
    case Refusal::kNone:
      break;
  }
  metrics->CountRejection(Rejection::kFull);
  return {ErrorCode::kFull, "too many streams"};
}

}  // namespace runnel::server
