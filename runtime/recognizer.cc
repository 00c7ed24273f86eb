#include "runtime/recognizer.h"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "runtime/recognizer_core.h"

namespace runnel {
namespace {

constexpr int kMaxThreads = 1024;

void Check(const char* field, double value, double min, double max, const char* expected) {
  if (value >= min && value <= max) return;
  std::ostringstream message;
  message << "RecognizerOptions: " << field << " is " << value << ", expected " << expected;
  throw std::invalid_argument(message.str());
}

}  // namespace

void RecognizerOptions::Validate() const {
  constexpr double kHour = 3600;
  Check("num_threads", num_threads, 1, kMaxThreads, "1 to 1024");
  Check("max_batch_streams", max_batch_streams, 1, 65536, "1 to 65536");
  Check("max_batch_wait_ms", max_batch_wait_ms, 0, kHour * 1000, "0 to 3600000");
  Check("max_buffered_s", max_buffered_s, 1e-3, 24 * kHour, "0.001 to 86400");
}

Recognizer::Recognizer(std::shared_ptr<const Model> model, const RecognizerOptions& options) {
  if (model == nullptr) throw std::invalid_argument("a Recognizer was given no model");
  options.Validate();
  core_ = std::make_shared<RecognizerCore>(std::move(model), options);
  try {
    core_->Start();
  } catch (...) {  // no more threads
    core_->Stop();
    throw;
  }
}

Recognizer::~Recognizer() { core_->Stop(); }

std::shared_ptr<LiveStream> Recognizer::Open(const StreamOptions& options, UpdateCallback on_update,
                                             int nbest) {
  return core_->Add(Stream(core_->model(), options), std::move(on_update), nbest);
}

std::shared_ptr<LiveStream> Recognizer::Restore(const std::string& snapshot,
                                                UpdateCallback on_update, int nbest,
                                                std::shared_ptr<const Lexicon> lexicon) {
  return core_->Add(Stream::Restore(core_->model(), snapshot, std::move(lexicon)),
                    std::move(on_update), nbest);
}

RecognizerStatus Recognizer::status() const { return core_->status(); }
const std::shared_ptr<const Model>& Recognizer::model() const { return core_->model(); }
const RecognizerOptions& Recognizer::options() const { return core_->options(); }

}  // namespace runnel
