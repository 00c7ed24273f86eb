#include "runtime/recognizer.h"

#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "runtime/live/batch_workers.h"
#include "runtime/live/live_stream_state.h"
#include "runtime/live/stream_pool.h"

namespace runnel {
namespace {

void Check(const char* field, double value, double min, double max) {
  if (value >= min && value <= max) return;
  std::ostringstream message;
  message << std::setprecision(10) << "RecognizerOptions: " << field << " is " << value
          << ", expected " << min << " to " << max;
  throw std::invalid_argument(message.str());
}

const RecognizerOptions& Checked(const std::shared_ptr<const Model>& model,
                                 const RecognizerOptions& options) {
  if (model == nullptr) throw std::invalid_argument("a Recognizer was given no model");
  options.Validate();
  return options;
}

}  // namespace

void RecognizerOptions::Validate() const {
  Check("num_threads", num_threads, 1, kMaxThreads);
  Check("max_batch_streams", max_batch_streams, 1, kMaxBatchStreams);
  Check("max_batch_wait_ms", max_batch_wait_ms, 0, kMaxBatchWaitMs);
  Check("max_buffered_s", max_buffered_s, kMinBufferedS, kMaxBufferedS);
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
