#include "tools/server/session/session_latency.h"

namespace runnel::server {
namespace {

double SecondsBetween(SessionLatency::Time begin, SessionLatency::Time end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void SessionLatency::OnAudio(Time now) {
  if (!first_audio_.has_value()) first_audio_ = now;
}

void SessionLatency::OnSent(const ResultInfo& result, Time now) {
  if (result.chunk_accepted.has_value()) {
    metrics_->ObserveChunkLatency(SecondsBetween(*result.chunk_accepted, now));
  }
  if (result.has_text && !has_sent_text_ && first_audio_.has_value()) {
    has_sent_text_ = true;
    metrics_->ObserveFirstPartialLatency(SecondsBetween(*first_audio_, now));
  }
  if (result.is_final && finish_.has_value()) {
    metrics_->ObserveFinalLatency(SecondsBetween(*finish_, now));
  }
}

}  // namespace runnel::server
