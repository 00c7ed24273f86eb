#include "tools/server/transport/http_reply.h"

#include <boost/beast/core/string.hpp>
#include <chrono>
#include <cstddef>

#include "runtime/model.h"
#include "tools/cli/decimal.h"
#include "tools/json/json_text.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/page/page_files.h"
#include "tools/server/resources/access.h"
#include "tools/server/resources/admission.h"

namespace runnel::server {
namespace {

constexpr std::string_view kModelsPath = "/v1/models";
constexpr char kRetryAfterS[] = "5";
constexpr char kTextType[] = "text/plain; charset=utf-8";
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kRecordingTooLong:
      return 413;
    case ErrorCode::kStreamFailed:
      return 422;
    case ErrorCode::kInternal:
      return 500;
    case ErrorCode::kFull:
    case ErrorCode::kAddressFull:
    case ErrorCode::kDraining:
      return 503;
    default:
      return 400;
  }
}

HttpReply TextReply(int status, const std::string& text) { return {status, kTextType, text, {}}; }

HttpReply Readiness(const Services& services) {
  if (services.admission->is_draining()) return TextReply(503, "draining\n");
  if (services.admission->is_full()) return TextReply(503, "full\n");
  return TextReply(200, "ready\n");
}

HttpReply MetricsReply(const Services& services) {
  ServerState state;
  if (services.input_budget != nullptr) {
    state.input_bytes = static_cast<int64_t>(services.input_budget->num_bytes());
  }
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
            "default-src 'self'; connect-src 'self'; media-src blob:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
           {"Cache-Control", "no-cache"},
           {"Referrer-Policy", "no-referrer"}}};
}

// A model in the list of models.
OrderedJson ModelObject(const Services& services) {
  return {{"id", services.recognizer->model()->name()},
          {"object", "model"},
          {"created", services.started_at.time_since_epoch() / std::chrono::seconds(1)},
          {"owned_by", "runnel"}};
}

HttpReply ModelsReply(const Services& services) {
  const OrderedJson list = {{"object", "list"},
                            {"data", OrderedJson::array({ModelObject(services)})}};
  HttpReply reply;
  reply.body = JsonText(list) + "\n";
  return reply;
}

// `id`: the end of the path of one model.
HttpReply ModelReply(const Services& services, std::string_view id) {
  const std::string& name = services.recognizer->model()->name();
  if (id != name && PercentDecoded(id) != name) {
    return ErrorReply(404, "model_not_found", "this server has the model " + name + " only",
                      "model");
  }
  HttpReply reply;
  reply.body = JsonText(ModelObject(services)) + "\n";
  return reply;
}

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder &&
         path[folder.size()] == '/';
}

// Where the authority of a target with a scheme begins; 0 for a target that is a path.
size_t AuthorityBegin(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (boost::beast::iequals(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

std::string_view AuthorityOf(std::string_view target) {
  const size_t begin = AuthorityBegin(target);
  if (begin == 0) return "";
  return target.substr(begin, target.find_first_of("/?", begin) - begin);
}

std::string PathOf(std::string_view target) {
  if (const size_t begin = AuthorityBegin(target); begin > 0) {
    const size_t path = target.find_first_of("/?", begin);
    target = path == std::string_view::npos || target[path] == '?' ? "/" : target.substr(path);
  }
  return ServicePath(target.substr(0, target.find('?')));
}

HttpReply ErrorReply(int status, const std::string& code, const std::string& message,
                     const std::string& param) {
  HttpReply reply;
  reply.status = status;
  reply.body = HttpErrorBody(status, code, message, param) + "\n";
  reply.error = {code, message};
  return reply;
}

HttpReply ErrorReply(const ProtocolError& error, const std::string& param) {
  return ErrorReply(StatusOf(error.code), CodeName(error.code), error.message, param);
}

HttpReply RefusalReply(Refusal refusal, Metrics* metrics) {
  HttpReply reply = ErrorReply(RefusalError(refusal, metrics));
  reply.headers.emplace_back("Retry-After", kRetryAfterS);
  return reply;
}

bool NeedsToken(std::string_view target) {
  const std::string path = PathOf(target);
  return path == kModelsPath || IsBelow(path, kModelsPath);
}

bool IsProbe(std::string_view target) {
  const std::string path = PathOf(target);
  return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

HttpReply Answer(const Services& services, std::string_view method, std::string_view target) {
  const std::string path = PathOf(target);
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
  if (path == kModelsPath) return only_reads([&] { return ModelsReply(services); });
  if (IsBelow(path, kModelsPath)) {
    return only_reads([&] {
      return ModelReply(services, std::string_view(path).substr(kModelsPath.size() + 1));
    });
  }
  if (TakesRecordings(path)) {
    HttpReply reply = ErrorReply(405, "method_not_allowed", "expected POST with an audio file");
    reply.headers.emplace_back("Allow", "POST");
    return reply;
  }
  if (path == "/v1/audio/translations") {
    return ErrorReply(
        404, "not_found",
        "this server does not translate: it writes the language that is spoken; expected "
        "/v1/audio/transcriptions");
  }
  for (const PageFile& file : PageFiles()) {
    if (file.path == path) return only_reads([&] { return PageReply(file); });
  }
  std::string recordings;
  for (const std::string& known : RecordingPaths()) recordings += known + ", ";
  return ErrorReply(404, "not_found",
                    "expected /, /healthz, /readyz, /metrics, " + recordings +
                        "/v1/models or a WebSocket upgrade, for example on /v1/realtime or "
                        "/v1/listen");
}

HttpReply AdminAnswer(const Services& services, double hung_s, std::string_view method,
                      std::string_view target) {
  if (!IsProbe(target))
    return ErrorReply(404, "not_found", "expected /healthz, /readyz or /metrics");
  if (hung_s > 0 && PathOf(target) != "/metrics") {
    return TextReply(503,
                     "hung: no network thread has answered for " + Decimal(hung_s, 0) + " s\n");
  }
  return Answer(services, method, target);
}

}  // namespace runnel::server
