#include "tools/server/grpc/grpc_server.h"

#include <glog/logging.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <future>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "riva_asr.grpc.pb.h"
#include "runtime/model.h"
#include "tools/server/grpc/connection_calls.h"
#include "tools/server/grpc/grpc_call.h"
#include "tools/server/grpc/grpc_connection.h"
#include "tools/server/resources/admission.h"
#include "tools/server/riva/riva_models.h"
#include "tools/server/transport/listener.h"

namespace runnel::server {
namespace {

using nvidia::riva::asr::RivaSpeechRecognition;
using nvidia::riva::asr::RivaSpeechRecognitionConfigRequest;
using nvidia::riva::asr::RivaSpeechRecognitionConfigResponse;

constexpr char kRecognize[] = "/nvidia.riva.asr.RivaSpeechRecognition/Recognize";
constexpr char kStreamingRecognize[] = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize";

// Above the limits of messages, so that the server's own message says which limit was exceeded.
constexpr size_t kMessageSlack = size_t{1} << 20;
// Between two pings of a client at least. Some clients are set to one in a second. ConnectionCalls
// bounds their number.
constexpr int kPingIntervalMs = 500;
// Between two pings of the server while calls are open, and for the answer.
constexpr int kKeepaliveMs = 10000;
// Calls of an address beside those with audio: health checks, and calls that are being refused.
constexpr int64_t kOtherCalls = 100;
// Calls in all, unless the limits allow more with audio. Each takes gRPC some ten kilobytes.
constexpr int64_t kMostCalls = 8192;
// Bytes of gRPC beside those of messages.
constexpr double kConnectionMemory = 256 << 20;
constexpr double kMostMemory = 1e18;  // more than any machine has
// Of gRPC's synchronous interface, which keeps one for each open call of reflection.
constexpr int kReflectionThreads = 8;

int Milliseconds(double seconds) {
  return static_cast<int>(std::min<double>(seconds * 1000, std::numeric_limits<int>::max()));
}

RivaModel DescribeModel(const Model& model) {
  return {&model.tokens(), model.name(), model.languages(), model.sample_rate_hz()};
}

// All values of a key, joined by commas: a proxy may add a line instead of extending one.
std::string Metadata(const grpc::CallbackServerContext& call, const char* key) {
  std::string all;
  const auto [begin, end] = call.client_metadata().equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    if (!all.empty()) all += ',';
    all.append(entry->second.data(), entry->second.size());
  }
  return all;
}

// Checks the bearer token in the metadata `authorization`. Counts a rejection.
std::optional<ProtocolError> CheckToken(const grpc::CallbackServerContext& call,
                                        const ConnectionServices& shared) {
  if (shared.access->IsAllowed(Metadata(call, "authorization"), /*target=*/"")) return std::nullopt;
  shared.services->metrics->CountRejection(Rejection::kUnauthorized);
  return ProtocolError{ErrorCode::kUnauthorized, "expected a bearer token"};
}

// The HTTP/2 stream of the call, in the metadata that ConnectionCalls adds.
uint32_t StreamOf(const grpc::CallbackServerContext& call) {
  // A client may send the metadata, too, but before that of the server.
  const auto [begin, end] = call.client_metadata().equal_range(ConnectionCalls::kStreamKey);
  uint32_t stream = 0;
  if (begin == end) return stream;
  const grpc::string_ref digits = std::prev(end)->second;
  std::from_chars(digits.data(), digits.data() + digits.size(), stream);
  return stream;
}

// The address of the client: that of the `peer`, behind a trusted proxy that of the metadata
// `x-forwarded-for`.
std::string AddressOf(const grpc::CallbackServerContext& call, const GrpcPeer& peer,
                      const AccessRules& access) {
  return access.ClientAddress(peer.address, Metadata(call, "x-forwarded-for"));
}

class RefusedCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const ProtocolError& error) { Finish(StatusOf(error)); }
  void OnDone() override { delete this; }
};

// Recognize and StreamingRecognize: a call is admitted before a message of it is read. With
// generated methods, gRPC would read the whole recording first.
class AudioCalls : public grpc::CallbackGenericService {
 public:
  AudioCalls(const ConnectionServices* shared, const RivaModel* model, boost::asio::io_context* io,
             const GrpcPeers* peers)
      : shared_(shared), model_(model), io_(io), peers_(peers) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    const bool is_recording = call->method() == kRecognize;
    if (!is_recording && call->method() != kStreamingRecognize) {
      return CallbackGenericService::CreateReactor(call);  // UNIMPLEMENTED
    }
    if (const auto error = CheckToken(*call, *shared_)) return new RefusedCall(*error);
    CallContext context;
    context.peer = peers_->Find(call->peer());
    if (context.peer == nullptr) return new RefusedCall({ErrorCode::kInternal, "no connection"});
    const std::string account = AccountOf(AddressOf(*call, *context.peer, *shared_->access));
    Admission* admission = shared_->services->admission;
    Refusal refusal = Refusal::kNone;
    context.slot = admission->AdmitStream(account, &refusal);
    if (context.slot == nullptr) {
      return new RefusedCall(RefusalError(refusal, shared_->services->metrics));
    }
    context.shared = shared_;
    context.grpc = call;
    context.stream = StreamOf(*call);
    context.client = {"grpc-" + std::to_string(++num_calls_), account};
    return is_recording ? ServeRecognizeCall(std::move(context), *model_, io_)
                        : ServeStreamingCall(std::move(context), *model_, io_);
  }

 private:
  const ConnectionServices* const shared_;
  const RivaModel* const model_;
  boost::asio::io_context* const io_;
  const GrpcPeers* const peers_;
  std::atomic<int64_t> num_calls_{0};
};

// The service that reflection shows. AudioCalls serves two of its methods.
class RivaService
    : public RivaSpeechRecognition::WithGenericMethod_Recognize<
          RivaSpeechRecognition::WithGenericMethod_StreamingRecognize<
              RivaSpeechRecognition::WithCallbackMethod_GetRivaSpeechRecognitionConfig<
                  RivaSpeechRecognition::Service>>> {
 public:
  RivaService(const ConnectionServices* shared, const RivaModel* model)
      : shared_(shared), model_(model) {}

  grpc::ServerUnaryReactor* GetRivaSpeechRecognitionConfig(
      grpc::CallbackServerContext* call, const RivaSpeechRecognitionConfigRequest* request,
      RivaSpeechRecognitionConfigResponse* response) override {
    std::optional<ProtocolError> error = CheckToken(*call, *shared_);
    if (!error.has_value()) error = ListModels(*request, *model_, response);
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(error.has_value() ? StatusOf(*error) : grpc::Status::OK);
    return reactor;
  }

 private:
  const ConnectionServices* const shared_;
  const RivaModel* const model_;
};

// The places of gRPC's calls, those that are being refused included.
std::shared_ptr<GrpcGate> MakeGate(const Limits& limits) {
  const int64_t audio_calls = limits.max_streams + limits.max_uploads;
  const int64_t of_address = limits.max_streams_per_address > 0
                                 ? std::min(audio_calls, limits.max_streams_per_address)
                                 : audio_calls;
  return std::make_shared<GrpcGate>(std::max(kMostCalls, audio_calls + kOtherCalls),
                                    of_address + kOtherCalls);
}

class Server : public GrpcServer {
 public:
  Server(const GrpcOptions& options, boost::asio::io_context* io, const ConnectionServices* shared)
      : model_(DescribeModel(*shared->services->recognizer->model())),
        service_(shared, &model_),
        gate_(MakeGate(shared->services->limits)),
        audio_calls_(shared, &model_, io, &gate_->peers),
        listener_(io, options.listen, options.port, options.tls, shared,
                  [gate = gate_](AnyStream stream, ConnectionContext context) {
                    ServeGrpc(std::move(stream), std::move(context), gate);
                  }) {
    gpr_set_log_function([](gpr_log_func_args* line) { VLOG(1) << line->message; });
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(&audio_calls_);
    SetLimits(shared->services->limits, static_cast<int>(gate_->places.most_of_account()),
              &builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw std::runtime_error("gRPC's server cannot start");
    server_->GetHealthCheckService()->SetServingStatus(RivaSpeechRecognition::service_full_name(),
                                                       true);
    gate_->open = [server = server_.get()](int descriptor) {
      grpc::AddInsecureChannelFromFd(server, descriptor);
    };
    listener_.Start();
  }

  ~Server() override {
    if (shutdown_.joinable()) {
      shutdown_.join();
    } else {
      server_->Shutdown(std::chrono::system_clock::now());
    }
  }

  int port() const override { return listener_.port(); }

  void Drain(std::chrono::system_clock::time_point last) override {
    server_->GetHealthCheckService()->Shutdown();
    shutdown_ = std::thread([this, last, stopped = stopped_.get_future()]() mutable {
      server_->Shutdown(last);  // sends GOAWAY, and waits for the calls and the connections
      stopped.get()();
    });
  }

  void Stop(std::function<void()> done) override {
    grpc_server_cancel_all_calls(server_->c_server());
    stopped_.set_value(std::move(done));
  }

 private:
  static void SetLimits(const Limits& limits, int calls_of_connection,
                        grpc::ServerBuilder* builder) {
    const size_t body = limits.max_body_bytes() + kMessageSlack;
    const size_t message = static_cast<size_t>(limits.max_message_bytes) + kMessageSlack;
    builder->SetMaxReceiveMessageSize(static_cast<int>(
        std::min<size_t>(std::max(body, message), std::numeric_limits<int>::max())));
    // Room for what the limits allow: ConnectionCalls bounds what clients take of it. When it is
    // used up, gRPC ends calls, whosever they are.
    grpc::ResourceQuota quota("runnel");
    const double memory = static_cast<double>(limits.max_uploads) * static_cast<double>(body) +
                          static_cast<double>(limits.max_streams) * static_cast<double>(message) +
                          kConnectionMemory;
    quota.Resize(static_cast<size_t>(std::min(memory, kMostMemory)));
    quota.SetMaxThreads(kReflectionThreads);
    builder->SetResourceQuota(quota);
    // gRPC checks the size of a message only after it has decompressed all of it.
    for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
      builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
    }
    // What a call may send ahead of the messages that are read: 64 KiB, not what the network holds.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Clients that know the number wait, and open no call that would.
    builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, calls_of_connection);
    builder->AddChannelArgument(
        GRPC_ARG_MAX_METADATA_SIZE,
        static_cast<int>(limits.max_header_bytes) + ConnectionCalls::kStreamBytes);
    // A peer that does not even reply to pings is gone.
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    if (limits.idle_timeout_s > 0) {  // a connection without calls is closed
      builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                                  Milliseconds(limits.idle_timeout_s));
    }
    // A client may ask whether the server is there also while nothing is said.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                                kPingIntervalMs);
    // Reflection alone uses gRPC's synchronous interface.
    builder->SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder->SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder->SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  }

  const RivaModel model_;
  RivaService service_;
  const std::shared_ptr<GrpcGate> gate_;
  AudioCalls audio_calls_;
  Listener listener_;
  std::unique_ptr<grpc::Server> server_;
  std::promise<std::function<void()>> stopped_;  // by Stop: what to call in the end
  std::thread shutdown_;
};

}  // namespace

}  // namespace runnel::server

runnel::server::GrpcServer* runnel_start_grpc_server(
    const runnel::server::GrpcOptions& options, boost::asio::io_context* io,
    const runnel::server::ConnectionServices* shared) {
  return std::make_unique<runnel::server::Server>(options, io, shared).release();
}
