#include "runtime/recognizer.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/live/batch_workers.h"
#include "runtime/live/live_stream_state.h"
#include "runtime/live/stream_pool.h"
#include "runtime/text/require_range.h"

namespace runnel {
namespace {

const RecognizerOptions& Checked(const std::shared_ptr<const Model>& model,
                                 const RecognizerOptions& options) {
  if (model == nullptr) throw std::invalid_argument("a Recognizer was given no model");
  options.Validate();
  return options;
}

}  // namespace

void RecognizerOptions::Validate() const {
  const std::string options = "RecognizerOptions: ";
  RequireInRange(options + "num_threads", num_threads, 1, kMaxThreads);
  RequireInRange(options + "max_batch_streams", max_batch_streams, 1, kMaxBatchStreams);
  RequireInRange(options + "max_batch_wait_ms", max_batch_wait_ms, 0, kMaxBatchWaitMs, "ms");
  RequireInRange(options + "max_buffered_s", max_buffered_s, kMinBufferedS, kMaxBufferedS, "s");
}

Recognizer::Recognizer(std::shared_ptr<const Model> model, const RecognizerOptions& options)
    : model_(std::move(model)),
      options_(Checked(model_, options)),
      pool_(std::make_shared<StreamPool>(options_)),
      workers_(std::make_shared<BatchWorkers>(pool_, options_)) {
  try {
    workers_->Start();
  } catch (...) {  // a thread could not be started
    workers_->Stop();
    throw;
  }
}

Recognizer::~Recognizer() {
  workers_->Stop();
  pool_->Close();
}

std::shared_ptr<LiveStream> Recognizer::Open(const StreamOptions& options, UpdateCallback on_update,
                                             const std::string& account) {
  return MakeLiveStream(pool_, Stream(model_, options), std::move(on_update), account);
}

std::shared_ptr<LiveStream> Recognizer::Restore(const std::string& snapshot,
                                                UpdateCallback on_update,
                                                const RestoreOptions& options,
                                                const std::string& account) {
  return MakeLiveStream(pool_, Stream::Restore(model_, snapshot, options), std::move(on_update),
                        account);
}

RecognizerStatus Recognizer::status() const {
  RecognizerStatus status = workers_->status();
  status.num_streams = static_cast<int64_t>(pool_->num_streams());
  status.queued_streams = static_cast<int64_t>(pool_->queue().size());
  return status;
}

}  // namespace runnel
