#include "tools/server/grpc/grpc_server.h"

#include <glog/logging.h>
#include <grpc/compression.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <future>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "riva_asr.grpc.pb.h"
#include "runtime/model.h"
#include "tools/server/grpc/call_admission.h"
#include "tools/server/grpc/grpc_error.h"
#include "tools/server/grpc/recognize_call.h"
#include "tools/server/grpc/streaming_call.h"
#include "tools/server/resources/refusal.h"
#include "tools/server/riva/riva_models.h"

namespace runnel::server {
namespace {

using nvidia::riva::asr::RivaSpeechRecognition;
using nvidia::riva::asr::RivaSpeechRecognitionConfigRequest;
using nvidia::riva::asr::RivaSpeechRecognitionConfigResponse;

constexpr char kRecognize[] = "/nvidia.riva.asr.RivaSpeechRecognition/Recognize";
constexpr char kStreamingRecognize[] = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize";

// Above the limits of messages, so that the server's own message says which limit was exceeded.
constexpr size_t kMessageSlack = size_t{1} << 20;
// Between two pings of a client at least. gRPC's clients send one in 10 s at most.
constexpr int kPingIntervalMs = 5000;
// Calls of a connection beside those with audio: health checks, and calls that are being refused.
constexpr int kOtherCalls = 100;
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

class RefusedCall : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const ProtocolError& error) { Finish(StatusOf(error)); }
  void OnDone() override { delete this; }
};

// Recognize and StreamingRecognize: a call is admitted before a message of it is read. With
// generated methods, gRPC would read the whole recording first.
class AudioCalls : public grpc::CallbackGenericService {
 public:
  AudioCalls(const ConnectionServices* shared, const RivaModel* model, boost::asio::io_context* io)
      : shared_(shared), model_(model), io_(io) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    const bool is_recording = call->method() == kRecognize;
    if (!is_recording && call->method() != kStreamingRecognize) {
      return CallbackGenericService::CreateReactor(call);  // UNIMPLEMENTED
    }
    if (const auto error = CheckToken(*call, *shared_)) return new RefusedCall(*error);
    const std::string address = AddressOf(*call, *shared_->access);
    Admission* admission = shared_->services->admission;
    CallContext context;
    Refusal refusal = Refusal::kNone;
    context.slot = is_recording ? admission->AdmitUpload(address, &refusal)
                                : admission->AdmitStream(address, &refusal);
    if (context.slot == nullptr) {
      return new RefusedCall(RefusalError(refusal, shared_->services->metrics));
    }
    context.shared = shared_;
    context.grpc = call;
    context.id = "grpc-" + std::to_string(++num_calls_);
    return is_recording ? ServeRecognizeCall(std::move(context), *model_, io_)
                        : ServeStreamingCall(std::move(context), *model_, io_);
  }

 private:
  const ConnectionServices* const shared_;
  const RivaModel* const model_;
  boost::asio::io_context* const io_;
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

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const GrpcOptions& options) {
  if (options.tls_certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions ssl;
  ssl.pem_key_cert_pairs.push_back({TextOf(options.tls_key), TextOf(options.tls_certificate)});
  return grpc::SslServerCredentials(ssl);
}

class Server : public GrpcServer {
 public:
  Server(const GrpcOptions& options, boost::asio::io_context* io, const ConnectionServices* shared)
      : model_(DescribeModel(*shared->services->recognizer->model())),
        service_(shared, &model_),
        audio_calls_(shared, &model_, io) {
    const bool is_v6 = options.listen.find(':') != std::string::npos;
    const std::string address =
        (is_v6 ? "[" + options.listen + "]" : options.listen) + ":" + std::to_string(options.port);
    gpr_set_log_function([](gpr_log_func_args* line) { VLOG(1) << line->message; });
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, CredentialsOf(options), &port_);
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(&audio_calls_);
    SetLimits(shared->services->limits, &builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      throw std::runtime_error("cannot listen on " + address + " for gRPC (--listen, --grpc_port)");
    }
    server_->GetHealthCheckService()->SetServingStatus(RivaSpeechRecognition::service_full_name(),
                                                       true);
  }

  ~Server() override {
    if (shutdown_.joinable()) {
      shutdown_.join();
    } else {
      server_->Shutdown(std::chrono::system_clock::now());
    }
  }

  int port() const override { return port_; }

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
  static void SetLimits(const Limits& limits, grpc::ServerBuilder* builder) {
    const size_t body = limits.max_body_bytes() + kMessageSlack;
    const size_t message = static_cast<size_t>(limits.max_message_bytes) + kMessageSlack;
    builder->SetMaxReceiveMessageSize(static_cast<int>(
        std::min<size_t>(std::max(body, message), std::numeric_limits<int>::max())));
    // Room for what the limits allow. When it is used up, gRPC ends calls, whosever they are.
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
    const int64_t calls = limits.max_streams + limits.max_uploads + kOtherCalls;
    builder->AddChannelArgument(
        GRPC_ARG_MAX_CONCURRENT_STREAMS,
        static_cast<int>(std::min<int64_t>(calls, std::numeric_limits<int>::max())));
    builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                                static_cast<int>(limits.max_header_bytes));
    builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                                Milliseconds(limits.handshake_timeout_s));
    if (limits.idle_timeout_s > 0) {
      // A peer that does not even reply to pings is gone; a connection without calls is closed.
      builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(limits.idle_timeout_s));
      builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                                  Milliseconds(limits.send_timeout_s));
      builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                                  Milliseconds(limits.idle_timeout_s));
    }
    // A client may ask whether the server is there also while nothing is said.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                                kPingIntervalMs);
    builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Reflection alone uses gRPC's synchronous interface.
    builder->SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder->SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder->SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  }

  const RivaModel model_;
  RivaService service_;
  AudioCalls audio_calls_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::promise<std::function<void()>> stopped_;  // by Stop: what to call in the end
  std::thread shutdown_;
};

}  // namespace

std::unique_ptr<GrpcServer> GrpcServer::Start(const GrpcOptions& options,
                                              boost::asio::io_context* io,
                                              const ConnectionServices* shared) {
  return std::make_unique<Server>(options, io, shared);
}

}  // namespace runnel::server
