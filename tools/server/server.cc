#include "tools/server/server.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "platform/process.h"
#include "runtime/model/model_parts.h"
#include "runtime/text/first_line.h"
#include "tools/cli/seconds.h"
#include "tools/cli/token_file.h"
#include "tools/server/control/admin_port.h"
#include "tools/server/control/control_thread.h"
#include "tools/server/control/memory_return.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/grpc/grpc_server.h"
#include "tools/server/resources/access.h"
#include "tools/server/resources/origins.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/resources/stream_request.h"
#include "tools/server/store/make_snapshot_store.h"
#include "tools/server/transport/http_session.h"
#include "tools/server/transport/listener.h"
#include "tools/server/transport/tls.h"
#include "tools/server/transport/wyoming_connection.h"

namespace runnel::server {
namespace {

namespace net = boost::asio;
using Clock = std::chrono::steady_clock;

// The server's own tasks among those of its clients (TaskThreads).
constexpr char kOwnTasks[] = "";
constexpr int kStoreThreads = 2;
constexpr int kFileThreads = 2;
// A decoder that hangs keeps a thread, and nobody else's while there are enough.
constexpr int64_t kMostMediaThreads = 128;
// Snapshots in memory that wait for a slow store; further ones are skipped.
constexpr size_t kSnapshotBytes = size_t{256} << 20;
// Snapshots, resumes and removals that wait for the store; further ones are refused.
constexpr size_t kStoreTasks = 4096;
// Between two calls of SnapshotStore::RemoveExpired.
constexpr std::chrono::seconds kExpiryStep{1};
// Between two measurements of runnel_event_loop_delay_seconds.
constexpr std::chrono::milliseconds kDelayStep{250};
// Between two calls of MemoryReturn::Run.
constexpr std::chrono::seconds kMemoryStep{5};
// Between two looks at the number of streams while the server drains.
constexpr std::chrono::milliseconds kDrainStep{20};
// After drain_timeout_s: time to send the error `draining` to the clients.
constexpr std::chrono::seconds kFarewellTime{5};
// After the last stream: time for its client to close, who then has read the last message.
constexpr std::chrono::seconds kClosingTime{1};
// After the last stream: time for the threads to end.
constexpr std::chrono::seconds kEndTime{5};

// File descriptors of a connection: of the gRPC port three (grpc_connection.h).
constexpr int64_t kUsualDescriptors = 1;
constexpr int64_t kGrpcDescriptors = 3;
// File descriptors beside those of connections, rounded up.
constexpr int64_t kOtherDescriptors = 256;

// No more connections than there are descriptors: one that cannot be accepted gets no answer.
Limits WithinDescriptors(const Limits& limits, int64_t of_connection) {
  const int64_t allowed = RaiseDescriptorLimit();
  const int64_t left = std::max(allowed / 2, allowed - kOtherDescriptors);
  const int64_t most = std::max<int64_t>(1, left / of_connection);
  if (limits.max_connections <= most) return limits;
  LOG(WARNING) << "only " << allowed << " open files are allowed: " << most
               << " connections at once in place of " << limits.max_connections
               << " (--max_connections, ulimit -n)";
  return WithConnections(limits, most);
}

// "" without one.
std::string TokenOf(const ServerOptions& options) {
  const std::string& file = options.bearer_token_file;
  if (file.empty()) return "";
  if (OthersMayRead(file)) {
    LOG(WARNING) << file << ": every user of this machine may read the token; expected mode 600";
  }
  return ReadToken(file);
}

int NumMediaThreads(const Limits& limits) {
  const int64_t most_tasks =
      std::min(limits.max_uploads, kMostMediaThreads) + limits.max_media_streams;
  return static_cast<int>(std::clamp<int64_t>(most_tasks, 1, kMostMediaThreads));
}

// Whether only this machine can reach the address.
bool IsLoopback(const std::string& address) {
  boost::system::error_code error;
  return net::ip::make_address(address, error).is_loopback() && !error;
}

// The server runs without the store too, and the store may become reachable later.
void WarnUnlessUsable(SnapshotStore* store) {
  try {
    store->Check();
  } catch (const SnapshotStoreError& error) {
    LOG(WARNING) << "snapshot store: " << FirstLine(error.what());
  }
}

// Members are destroyed from the last to the first: the event loop outlives the workers and the
// tasks that post to it, and ends with the connections that it holds. The control thread runs as
// long, so that a thread that does not end cannot keep the process.
class Server {
 public:
  Server(const std::shared_ptr<const Model>& model, const ServerOptions& options)
      : options_(options),
        access_(TokenOf(options), options.trusted_proxies, AllTokenPlaces()),
        origins_(options.allowed_origins,
                 IsLoopback(options.listen) && options.trusted_proxies.empty()),
        admission_(options.limits),
        input_budget_(options.limits.max_input_bytes()),
        io_(options.io_threads),
        control_({&io_}),
        tls_(options.tls_certificate.empty()
                 ? nullptr
                 : std::make_unique<ServerTls>(options.tls_certificate, options.tls_key)),
        store_(
            options.snapshot_store.empty()
                ? nullptr
                : MakeSnapshotStore(options.snapshot_store,
                                    std::chrono::seconds(options.limits.snapshot_ttl_s),
                                    options.limits.max_snapshot_bytes(),
                                    [this] { metrics_.CountSnapshot(SnapshotResult::kDropped); })),
        store_threads_(kStoreThreads, kSnapshotBytes, kStoreTasks),
        // Unbounded: a recording or a stream has one task at most, and the task of a client that
        // has gone returns at once.
        file_threads_(kFileThreads, 0, std::numeric_limits<size_t>::max()),
        media_threads_(NumMediaThreads(options.limits), 0, std::numeric_limits<size_t>::max()),
        reload_thread_(/*max_threads=*/1, /*max_bytes=*/0, /*max_tasks=*/1),
        recognizer_(model, WithMetrics(options.recognizer)),
        expiry_timer_(io_),
        delay_timer_(io_),
        memory_timer_(io_) {
    services_.limits = options.limits;
    services_.started_at = std::chrono::system_clock::now();
    services_.recognizer = &recognizer_;
    services_.admission = &admission_;
    services_.metrics = &metrics_;
    services_.snapshot_store = store_.get();
    services_.store_threads = &store_threads_;
    services_.file_threads = &file_threads_;
    services_.media_threads = &media_threads_;
    services_.input_budget = &input_budget_;
    shared_.services = &services_;
    shared_.access = &access_;
    shared_.origins = &origins_;
    shared_.registry = &registry_;
    services_.default_options.Set(ReadDefaults());
    if (tls_ != nullptr) metrics_.SetCertificateExpiry(tls_->expiry());
  }

  // Tasks use the recognizer, and the workers of the recognizer add tasks: the tasks end first.
  ~Server() {
    reload_thread_.Stop();
    file_threads_.Stop();
    media_threads_.Stop();
    store_threads_.Stop();
    registry_.Clear();
  }

  ServerEnd Run(const std::function<void(const ServerAddresses& addresses)>& on_listening) {
    Listener listener(&io_, options_.listen, options_.port,
                      tls_ == nullptr ? nullptr : &tls_->http(), &shared_, &ServeConnection);
    listener.Start();
    ServerAddresses addresses;
    addresses.url = (tls_ == nullptr ? "http://" : "https://") + AddressOf(listener.port());
    std::optional<Listener> wyoming;
    if (options_.wyoming_port.has_value()) {
      wyoming.emplace(&io_, options_.listen, *options_.wyoming_port, /*tls=*/nullptr, &shared_,
                      ServingWyoming());
      wyoming->Start();
      addresses.wyoming = AddressOf(wyoming->port());
    }
    // Last: its calls begin at once, and end only while the event loop runs.
    if (options_.grpc_port.has_value()) {
      grpc_ = GrpcServer::Start(
          {options_.listen, *options_.grpc_port, tls_ == nullptr ? nullptr : &tls_->grpc()}, &io_,
          &shared_);
      addresses.grpc = AddressOf(grpc_->port());
    }
    std::optional<AdminPort> admin;
    if (options_.admin_port.has_value()) {
      admin.emplace(&control_.io(), options_.listen, *options_.admin_port,
                    [this](std::string_view method, std::string_view target) {
                      return AdminAnswer(services_, control_.HungS(), method, target);
                    });
      admin->Start();
      addresses.admin = "http://" + AddressOf(admin->port());
    }
    // A file may take long to read; the control thread answers health probes meanwhile, and the
    // file threads serve clients. One reload may wait, which then stands for all later signals.
    control_.OnSignals([this] { OnSignal(); },
                       [this] { reload_thread_.Run([this] { Reload(); }, kOwnTasks); });
    on_listening(addresses);
    LogDefaults();
    control_.Start();
    if (store_ != nullptr) {
      store_threads_.Run([store = store_.get()] { WarnUnlessUsable(store); }, kOwnTasks);
    }
    if (store_ != nullptr) WaitForExpiry();
    MeasureDelay();
    WaitForMemory();
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.io_threads; ++i) threads.emplace_back([this] { RunLoop(); });
    RunLoop();
    for (std::thread& thread : threads) thread.join();
    control_.Do([&admin] { admin.reset(); });
    LogLeftOut();
    return end_;
  }

 private:
  enum class Phase {
    kServing,
    kDraining,  // streams go on, new ones are refused
    kFarewell,  // the remaining streams were told to end
    kClosing    // no stream is left
  };

  std::string AddressOf(int port) const {
    const bool is_v6 = options_.listen.find(':') != std::string::npos;
    return (is_v6 ? "[" + options_.listen + "]" : options_.listen) + ":" + std::to_string(port);
  }

  Listener::Serve ServingWyoming() const {
    const Model& model = *recognizer_.model();
    const std::vector<std::string>& named = options_.wyoming_languages;
    return [info = WyomingInfo(model.name(), named.empty() ? model.languages() : named)](
               AnyStream stream, ConnectionContext context) {
      ServeWyoming(std::move(stream), std::move(context), info);
    };
  }

  // Of a stream whose client names no option.
  StreamOptions Resolved(const ChosenOptions& options) {
    const auto stream =
        recognizer_.Open(CompleteOptions(StartRequest{}, options, services_.limits));
    stream->Cancel();
    return stream->options();
  }

  // Throws std::invalid_argument when no stream could have the default options. A left context that
  // the model recommends is limited as if a client had asked for it; one from a flag is not.
  ChosenOptions ReadDefaults() {
    ChosenOptions options = options_.default_options;
    if (options_.read_files) options_.read_files(&options.values);
    const ModelConfig& model = recognizer_.model()->parts().config;
    StreamOptions defaults = Resolved(options);
    const bool is_whole = defaults.chunk_size == StreamOptions::kWholeUtterance;
    const bool is_unlimited = defaults.left_context == StreamOptions::kUnlimited;
    StreamOptions& chosen = options.values.stream;
    int64_t& left_context = chosen.left_context;
    if (left_context == StreamOptions::kModelDefault && !is_whole &&
        (is_unlimited || defaults.left_context > services_.limits.max_left_context)) {
      const int64_t most = services_.limits.max_left_context;
      left_context = most - most % model.encoder.ChunkMultiple();
      defaults = Resolved(options);
    }
    if (!is_whole) {
      if (defaults.right_context != StreamOptions::kNoRightContext)
        left_context = defaults.left_context;
      chosen.right_context = defaults.right_context;
    }
    if (is_whole && model.streaming.window && model.encoder.NeedsWholeUtterance() != nullptr) {
      // Of clients that ask for a chunk_size: CompleteOptions checks them.
      if (left_context == StreamOptions::kModelDefault) {
        left_context = model.streaming.window->left_context;
      }
      if (chosen.right_context == StreamOptions::kModelDefault) {
        chosen.right_context = model.streaming.window->right_context;
      }
    }
    chosen.chunk_size = defaults.chunk_size;
    chosen.sample_rate_hz = defaults.sample_rate_hz;
    Resolved(options);  // throws for a window that is too large beside its chunk
    return options;
  }

  // On SIGHUP. Reads all files before it uses one.
  void Reload() {
    try {
      const std::string token = TokenOf(options_);
      ChosenOptions defaults = ReadDefaults();
      if (tls_ != nullptr) tls_->Reload();
      access_.SetToken(token);
      services_.default_options.Set(std::move(defaults));
    } catch (const std::exception& error) {
      LOG(ERROR) << "SIGHUP: everything stays as it is: " << FirstLine(error.what());
      return metrics_.CountReload(false);
    }
    if (tls_ != nullptr) metrics_.SetCertificateExpiry(tls_->expiry());
    metrics_.CountReload(true);
    LOG(INFO) << "SIGHUP: read certificate, token and lists again";
  }

  void LogDefaults() {
    const StreamOptions defaults = Resolved(*services_.default_options.Get());
    if (defaults.chunk_size == StreamOptions::kWholeUtterance) {
      LOG(INFO) << "this model decodes whole utterances, of " << services_.limits.max_buffered_s
                << " s at most (--max_buffered_s)";
      return;
    }
    LOG(INFO) << "chunks of " << defaults.chunk_size << " encoder frames, left context "
              << (defaults.left_context == StreamOptions::kUnlimited
                      ? "unlimited"
                      : std::to_string(defaults.left_context))
              << (defaults.right_context == StreamOptions::kNoRightContext
                      ? ""
                      : ", right context " + std::to_string(defaults.right_context))
              << (defaults.cached_windows ? ", cached windows" : "")
              << ", unless a client asks for others";
  }

  RecognizerOptions WithMetrics(RecognizerOptions options) {
    options.on_batch = [this](const BatchReport& report) { metrics_.ObserveBatch(report); };
    return options;
  }

  // An exception ends the handler that threw it, not the event loop.
  void RunLoop() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        LogRated(LogLevel::kError, "event loop", error.what());
      }
    }
  }

  // At most one such task exists, however slow the store is.
  void WaitForExpiry() {
    expiry_timer_.expires_after(kExpiryStep);
    expiry_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      const auto task = [this] {
        store_->RemoveExpired();
        net::post(io_, [this] { WaitForExpiry(); });
      };
      if (!store_threads_.Run(task, kOwnTasks)) WaitForExpiry();
    });
  }

  void MeasureDelay() {
    delay_timer_.expires_after(kDelayStep);
    delay_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      const std::chrono::duration<double> delay = Clock::now() - delay_timer_.expiry();
      metrics_.ObserveEventLoopDelay(delay.count());
      MeasureDelay();
    });
  }

  void WaitForMemory() {
    memory_timer_.expires_after(kMemoryStep);
    memory_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      const auto task = [this] {
        memory_.Run();
        net::post(io_, [this] { WaitForMemory(); });
      };
      if (!file_threads_.Run(task, kOwnTasks)) WaitForMemory();
    });
  }

  // This and the end of the server run on the control thread.
  void OnSignal() {
    control_.Tell("STOPPING=1");
    if (phase_ != Phase::kServing) {
      LOG(INFO) << "ends at once";
      end_ = ServerEnd::kAtOnce;
      control_.EndProcessWithin(kEndTime);
      return Stop();
    }
    LOG(INFO) << "draining: " << admission_.num_streams() << " streams";
    admission_.Drain();
    phase_ = Phase::kDraining;
    const Clock::duration timeout = Seconds(options_.limits.drain_timeout_s);
    drain_deadline_ = Clock::now() + timeout;
    control_.EndProcessWithin(timeout + kFarewellTime + kEndTime);
    if (grpc_ != nullptr) grpc_->Drain(std::chrono::system_clock::now() + timeout + kFarewellTime);
    Drain();
  }

  void Drain() {
    if (admission_.num_streams() == 0 && phase_ != Phase::kClosing) {
      phase_ = Phase::kClosing;
      drain_deadline_ = Clock::now() + kClosingTime;
    }
    const bool is_late = Clock::now() >= drain_deadline_;
    if (phase_ == Phase::kClosing) {
      if (is_late || admission_.num_connections() == 0) {
        LOG(INFO) << "drained";
        return Stop();
      }
    } else if (is_late) {
      if (phase_ == Phase::kFarewell) {
        LOG(WARNING) << "ends with " << admission_.num_streams() << " streams left";
        return Stop();
      }
      LOG(INFO) << "tells " << admission_.num_streams() << " streams to end";
      phase_ = Phase::kFarewell;
      drain_deadline_ = Clock::now() + kFarewellTime;
      registry_.DrainAll();
    }
    control_.After(kDrainStep, [this] {
      if (!is_stopping_) Drain();
    });
  }

  // Ends the event loop. The calls of gRPC need it until they have ended.
  void Stop() {
    if (std::exchange(is_stopping_, true)) return;
    if (grpc_ == nullptr) return io_.stop();
    // Posted, so that what the calls posted last runs before.
    grpc_->Stop([this] { net::post(io_, [this] { io_.stop(); }); });
  }

  const ServerOptions& options_;
  AccessRules access_;
  const OriginRules origins_;
  Metrics metrics_;
  Admission admission_;
  InputBudget input_budget_;
  SessionRegistry registry_;
  Services services_;
  ConnectionServices shared_;
  net::io_context io_;
  ControlThread control_;
  std::unique_ptr<ServerTls> tls_;  // null without TLS
  std::unique_ptr<SnapshotStore> store_;
  TaskThreads store_threads_;
  TaskThreads file_threads_;
  TaskThreads media_threads_;
  TaskThreads reload_thread_;
  Recognizer recognizer_;
  Clock::time_point drain_deadline_;  // this and the next three: of the control thread
  Phase phase_ = Phase::kServing;
  ServerEnd end_ = ServerEnd::kDrained;
  bool is_stopping_ = false;
  net::steady_timer expiry_timer_;
  net::steady_timer delay_timer_;
  net::steady_timer memory_timer_;
  MemoryReturn memory_;
  std::unique_ptr<GrpcServer> grpc_;  // null without gRPC
};

}  // namespace

ServerEnd RunServer(const std::shared_ptr<const Model>& model, const ServerOptions& options,
                    const std::function<void(const ServerAddresses& addresses)>& on_listening) {
  ServerOptions complete = options;
  complete.limits = WithinDescriptors(
      options.limits, options.grpc_port.has_value() ? kGrpcDescriptors : kUsualDescriptors);
  complete.recognizer.max_buffered_s = options.limits.max_buffered_s;
  Server server(model, complete);
  return server.Run(on_listening);
}

}  // namespace runnel::server
