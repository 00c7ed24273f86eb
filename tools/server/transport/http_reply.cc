#include "tools/server/transport/http_reply.h"

#include "tools/server/page/page_files.h"

namespace runnel::server {
namespace {

constexpr char kRetryAfterS[] = "5";
constexpr char kTextType[] = "text/plain; charset=utf-8";
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpReply TextReply(int status, const std::string& text) { return {status, kTextType, text, {}}; }

HttpReply Readiness(const Services& services) {
  if (services.admission->is_draining()) return TextReply(503, "draining\n");
  if (services.admission->is_full()) return TextReply(503, "full\n");
  return TextReply(200, "ready\n");
}

HttpReply MetricsReply(const Services& services) {
  ServerState state;
  state.num_streams = services.admission->num_streams();
  state.num_connections = services.admission->num_connections();
  state.max_streams = services.limits.max_streams;
  state.queued_streams = services.recognizer->status().queued_streams;
  if (services.snapshot_store != nullptr)
    state.snapshot_bytes = services.snapshot_store->num_bytes();
  state.is_draining = services.admission->is_draining();
  return {200, kMetricsType, services.metrics->Text(state), {}};
}

HttpReply PageReply(const PageFile& file) {
  return {200,
          std::string(file.content_type),
          std::string(file.bytes),
          {{"Content-Security-Policy",
            "default-src 'self'; connect-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
           {"Cache-Control", "no-cache"},
           {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

HttpReply ErrorReply(int status, const std::string& code, const std::string& message) {
  return {status, "application/json", HttpErrorBody(code, message) + "\n", {}};
}

HttpReply RefusalReply(Refusal refusal, Metrics* metrics) {
  HttpReply reply;
  switch (refusal) {
    case Refusal::kDraining:
      metrics->CountRejection(Rejection::kDraining);
      reply = ErrorReply(503, CodeName(ErrorCode::kDraining), "the server is shutting down");
      break;
    case Refusal::kAddress:
      metrics->CountRejection(Rejection::kAddressFull);
      reply =
          ErrorReply(503, CodeName(ErrorCode::kAddressFull), "too many streams from this address");
      break;
    case Refusal::kUploads:
      metrics->CountRejection(Rejection::kUploadsFull);
      reply = ErrorReply(503, CodeName(ErrorCode::kFull), "too many recordings at the same time");
      break;
    case Refusal::kConnections:
      metrics->CountRejection(Rejection::kConnectionsFull);
      reply = ErrorReply(503, CodeName(ErrorCode::kFull), "too many connections");
      break;
    case Refusal::kAddressConnections:
      metrics->CountRejection(Rejection::kAddressConnectionsFull);
      reply = ErrorReply(503, CodeName(ErrorCode::kAddressFull),
                         "too many connections from this address");
      break;
    case Refusal::kStreams:
    case Refusal::kNone:
      metrics->CountRejection(Rejection::kFull);
      reply = ErrorReply(503, CodeName(ErrorCode::kFull), "too many streams");
      break;
  }
  reply.headers.emplace_back("Retry-After", kRetryAfterS);
  return reply;
}

bool IsProbe(std::string_view target) {
  const std::string_view path = PathOf(target);
  return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

HttpReply Answer(const Services& services, std::string_view method, std::string_view target) {
  const std::string_view path = PathOf(target);
  const bool reads = method == "GET" || method == "HEAD";
  const auto only_reads = [&](auto make) {
    if (reads) return make();
    HttpReply reply = ErrorReply(405, "method_not_allowed", "expected GET");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  };
  if (path == "/healthz") return only_reads([] { return TextReply(200, "alive\n"); });
  if (path == "/readyz") return only_reads([&] { return Readiness(services); });
  if (path == "/metrics") return only_reads([&] { return MetricsReply(services); });
  if (path == kRecognizePath) {
    HttpReply reply = ErrorReply(405, "method_not_allowed", "expected POST with an audio file");
    reply.headers.emplace_back("Allow", "POST");
    return reply;
  }
  for (const PageFile& file : PageFiles()) {
    if (file.path == path) return only_reads([&] { return PageReply(file); });
  }
  return ErrorReply(404, "not_found",
                    "expected /, /healthz, /readyz, /metrics, /v1/recognize or a "
                    "WebSocket upgrade");
}

}  // namespace runnel::server
