#include "tools/server/server.h"

#include <glog/logging.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "encoder/first_line.h"
#include "tools/descriptor_limit.h"
#include "tools/seconds.h"
#include "tools/server/access.h"
#include "tools/server/listener.h"
#include "tools/server/snapshot_store.h"
#include "tools/server/stream_request.h"
#include "tools/server/tls.h"

namespace runnel::server {
namespace {

namespace net = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr int kStoreThreads = 2;
constexpr int kFileThreads = 2;
// Snapshots that wait for a store that is slow; beyond it they are skipped.
constexpr size_t kSnapshotBytes = size_t{256} << 20;
// Snapshots, resumes and removals that wait; beyond it they are refused.
constexpr size_t kStoreTasks = 4096;
// How often the store is asked to remove what has expired.
constexpr std::chrono::seconds kExpiryStep{1};
// While draining: how often the server looks whether it is done.
constexpr std::chrono::milliseconds kDrainStep{20};
// After drain_timeout: for clients to be told.
constexpr std::chrono::seconds kFarewellTime{5};

// A connection takes a descriptor; what else does, is less than that.
constexpr int64_t kOtherDescriptors = 256;

void ProvideDescriptors(const Limits& limits) {
  const int64_t wanted = limits.max_connections + kOtherDescriptors;
  const int64_t allowed = RaiseDescriptorLimit();
  if (allowed < wanted) {
    LOG(WARNING) << "only " << allowed << " open files are allowed, " << wanted << " may be needed";
  }
}

// The server serves without a store, and the store may come later; but somebody should know.
void WarnUnlessUsable(SnapshotStore* store) {
  try {
    store->Check();
  } catch (const SnapshotStoreError& error) {
    LOG(WARNING) << "snapshot store: " << FirstLine(error.what());
  }
}

// Everything of a server, in the order in which it can be taken down: the event loop outlives the
// workers and tasks that post to it, and ends with the connections that it holds.
class Server {
 public:
  Server(const std::shared_ptr<const Model>& model, const ServerOptions& options)
      : options_(options),
        access_(options.token, options.trusted_proxies),
        admission_(options.limits),
        io_(options.io_threads),
        tls_(options.tls_certificate.empty()
                 ? nullptr
                 : MakeTlsContext(options.tls_certificate, options.tls_key)),
        store_(options.snapshot_store.empty()
                   ? nullptr
                   : MakeSnapshotStore(options.snapshot_store,
                                       std::chrono::seconds(options.snapshot_ttl_s),
                                       options.max_snapshot_bytes)),
        store_threads_(kStoreThreads, kSnapshotBytes, kStoreTasks),
        // Every recording has one task at most, and every stream, its final result. Those of
        // clients that are gone do nothing.
        file_threads_(kFileThreads, 0, std::numeric_limits<size_t>::max()),
        recognizer_(model, WithMetrics(options.recognizer)),
        signals_(io_, SIGTERM, SIGINT),
        drain_timer_(io_),
        expiry_timer_(io_) {
    services_.limits = options.limits;
    services_.default_options = options.default_options;
    services_.snapshot_interval_s = options.snapshot_interval_s;
    services_.recognizer = &recognizer_;
    services_.admission = &admission_;
    services_.metrics = &metrics_;
    services_.snapshot_store = store_.get();
    services_.store_threads = &store_threads_;
    services_.file_threads = &file_threads_;
    shared_.services = &services_;
    shared_.access = &access_;
    shared_.registry = &registry_;
    ChooseDefaults();
  }

  // Tasks use the recognizer, and its workers give tasks: those first, then the workers.
  ~Server() {
    file_threads_.Stop();
    store_threads_.Stop();
    registry_.Clear();
  }

  ServerEnd Run(const std::function<void(const std::string& url)>& on_listening) {
    ProvideDescriptors(options_.limits);
    WaitForSignal();
    Listener listener(&io_, options_.listen, options_.port, tls_.get(), &shared_);
    listener.Start();
    const bool is_v6 = options_.listen.find(':') != std::string::npos;
    on_listening((tls_ == nullptr ? "http://" : "https://") +
                 (is_v6 ? "[" + options_.listen + "]" : options_.listen) + ":" +
                 std::to_string(listener.port()));
    LogDefaults();
    if (store_ != nullptr) store_threads_.Run([store = store_.get()] { WarnUnlessUsable(store); });
    if (store_ != nullptr) WaitForExpiry();
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.io_threads; ++i) threads.emplace_back([this] { RunLoop(); });
    RunLoop();
    for (std::thread& thread : threads) thread.join();
    return end_;
  }

 private:
  StreamOptions Defaults() {
    const auto stream = recognizer_.Open(
        CompleteOptions(StartRequest{}, services_.default_options, services_.limits));
    stream->Cancel();
    return stream->options();
  }

  // Options that no stream could have are an error now. What a model recommends has the limits of
  // what clients ask for; what flags say has not.
  void ChooseDefaults() {
    StreamOptions defaults = Defaults();
    const bool is_whole = defaults.chunk_size == StreamOptions::kWholeUtterance;
    const bool is_unlimited = defaults.left_context == StreamOptions::kUnlimited;
    int64_t& left_context = services_.default_options.left_context;
    if (left_context == StreamOptions::kModelDefault && !is_whole &&
        (is_unlimited || defaults.left_context > services_.limits.max_left_context)) {
      left_context = services_.limits.max_left_context;
      defaults = Defaults();
    }
    defaults_ = defaults;
  }

  void LogDefaults() const {
    if (defaults_.chunk_size == StreamOptions::kWholeUtterance) {
      LOG(INFO) << "this model takes whole utterances, of " << services_.limits.max_buffered_s
                << " s at most (--max_buffered_s)";
      return;
    }
    LOG(INFO) << "chunks of " << defaults_.chunk_size << " encoder frames, left context "
              << (defaults_.left_context == StreamOptions::kUnlimited
                      ? "unlimited"
                      : std::to_string(defaults_.left_context))
              << ", unless a client asks for others";
  }

  RecognizerOptions WithMetrics(RecognizerOptions options) {
    options.on_batch = [this](const BatchReport& report) { metrics_.ObserveBatch(report); };
    return options;
  }

  // An exception ends the handler that threw it, not the loop.
  void RunLoop() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        LOG(ERROR) << "event loop: " << error.what();
      }
    }
  }

  // One task at a time, however slow the store is.
  void WaitForExpiry() {
    expiry_timer_.expires_after(kExpiryStep);
    expiry_timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      const bool is_taken = store_threads_.Run([this] {
        store_->RemoveExpired();
        net::post(io_, [this] { WaitForExpiry(); });
      });
      if (!is_taken) WaitForExpiry();
    });
  }

  void WaitForSignal() {
    signals_.async_wait([this](boost::system::error_code error, int /*signal*/) {
      if (error) return;
      if (admission_.is_draining()) {
        LOG(INFO) << "ends at once";
        end_ = ServerEnd::kAtOnce;
        return io_.stop();
      }
      LOG(INFO) << "draining: " << admission_.num_streams() << " streams";
      admission_.Drain();
      drain_deadline_ = Clock::now() + Seconds(options_.limits.drain_timeout_s);
      WaitForSignal();
      Drain();
    });
  }

  void Drain() {
    if (admission_.num_streams() == 0) {
      LOG(INFO) << "drained";
      return io_.stop();
    }
    if (Clock::now() >= drain_deadline_) {
      if (has_told_) {
        LOG(WARNING) << "ends with " << admission_.num_streams() << " streams left";
        return io_.stop();
      }
      LOG(INFO) << "tells " << admission_.num_streams() << " streams to end";
      has_told_ = true;
      drain_deadline_ = Clock::now() + kFarewellTime;
      registry_.DrainAll();
    }
    drain_timer_.expires_after(kDrainStep);
    drain_timer_.async_wait([this](boost::system::error_code error) {
      if (!error) Drain();
    });
  }

  const ServerOptions& options_;
  const AccessRules access_;
  Metrics metrics_;
  Admission admission_;
  SessionRegistry registry_;
  Services services_;
  StreamOptions defaults_;  // of a stream whose client asks for nothing
  ConnectionServices shared_;
  net::io_context io_;
  std::unique_ptr<net::ssl::context> tls_;
  std::unique_ptr<SnapshotStore> store_;
  TaskThreads store_threads_;
  TaskThreads file_threads_;
  Recognizer recognizer_;
  net::signal_set signals_;
  net::steady_timer drain_timer_;
  net::steady_timer expiry_timer_;
  Clock::time_point drain_deadline_;
  bool has_told_ = false;
  ServerEnd end_ = ServerEnd::kDrained;
};

}  // namespace

ServerEnd RunServer(const std::shared_ptr<const Model>& model, const ServerOptions& options,
                    const std::function<void(const std::string& url)>& on_listening) {
  ServerOptions complete = options;
  complete.recognizer.max_buffered_s = options.limits.max_buffered_s;
  Server server(model, complete);
  return server.Run(on_listening);
}

}  // namespace runnel::server
