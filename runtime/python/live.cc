#include "runtime/python/live.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/python/callback.h"
#include "runtime/python/class.h"

namespace runnel::python {
namespace {

// Those that are open. Guarded by the GIL.
std::set<PyRecognizer*>& OpenRecognizers() {
  static std::set<PyRecognizer*> recognizers;
  return recognizers;
}

// Whether the interpreter ends. Guarded by the GIL.
bool is_ending = false;

void RefuseInCallback(const std::string& what) {
  if (Callback::IsRunning()) throw std::invalid_argument(what);
}

// Waits for the workers. They may wait for the GIL, so this thread must not have it. A child of
// fork has no workers, and leaves the memory.
void Delete(Recognizer* recognizer, const Process& process) {
  if (!process.is_here()) return;
  if (Callback::IsRunning()) {
    // A worker that drops the last reference cannot wait for itself.
    std::thread([recognizer] { delete recognizer; }).detach();
  } else if (!GilHolder::IsHeld()) {
    delete recognizer;
  } else {
    const ReleasedGil released;
    delete recognizer;
  }
}

}  // namespace

void Process::Require(const std::string& name) const {
  if (is_here()) return;
  throw std::logic_error(name + " was made before fork (process " + std::to_string(id_) +
                         "), expected one that process " + std::to_string(getpid()) +
                         " made: its worker threads are not here");
}

Listener::Listener(const Object& given, const std::shared_ptr<const Model>& model) {
  if (given.is_none()) return;
  if (PyCallable_Check(given.get()) == 0) RaiseTypeError("on_update", given, "a callable");
  const Callback callback(given);
  function = callback.Watch();
  // Updates of a stream come one at a time, so its text needs no lock.
  on_update = [callback, model, text = std::make_shared<LiveText>()](LiveStream&,
                                                                     const LiveUpdate& update) {
    callback.Call([&] { return text->Add(update, model->tokens()); });
  };
}

PyLiveStream::PyLiveStream(std::shared_ptr<LiveStream> stream, const Listener& listener,
                           Object recognizer, std::shared_ptr<const Model> model)
    : stream_(std::move(stream)),
      is_polled_(!listener.on_update),
      callback_(listener.function),
      recognizer_(std::move(recognizer)),
      model_(std::move(model)) {}

PyLiveStream::~PyLiveStream() {
  if (!process_.is_here()) {
    // Left: its locks may be held by threads that are not here.
    static_cast<void>(new (std::nothrow) std::shared_ptr<LiveStream>(std::move(stream_)));
    return;
  }
  const ReleasedGil released;
  stream_.reset();
}

bool PyLiveStream::Accept(const Object& samples) {
  RefuseInCallback("accept in a callback, expected accept_now: it may wait for this thread");
  process_.Require("the stream");
  const Samples given(samples);
  size_t taken = 0;
  while (true) {
    auto room = std::make_shared<std::promise<void>>();
    std::future<void> has_room = room->get_future();
    {
      const ReleasedGil released;
      taken += Offer(given, taken);
      if (taken == given.size()) return true;
      if (stream_->is_over()) return false;
      // A second thread that calls this replaces the function, which breaks the promise.
      stream_->NotifyRoom([room = std::move(room)] { room->set_value(); });
    }
    while (true) {
      {
        const ReleasedGil released;
        if (has_room.wait_for(kSignalInterval) == std::future_status::ready) break;
      }
      RaiseSignals();
    }
  }
}

size_t PyLiveStream::AcceptNow(const Object& samples) {
  process_.Require("the stream");
  const Samples given(samples);
  const ReleasedGil released;
  return Offer(given, 0);
}

size_t PyLiveStream::Offer(const Samples& samples, size_t begin) {
  // One more than there is room for: a stream that decodes its whole utterance at once fails then.
  const std::vector<float> values = samples.Read(begin, stream_->Room() + 1);
  return stream_->AcceptSamples(values.data(), values.size());
}

void PyLiveStream::Finish() {
  is_finished_ = true;
  With([](LiveStream& stream) { stream.Finish(); });
}

void PyLiveStream::Cancel() {
  With([](LiveStream& stream) { stream.Cancel(); });
}

int PyLiveStream::Traverse(visitproc visit, void* arg) const {
  Py_VISIT(recognizer_.get());
  // A worker may drop its copy of the callback meanwhile, so that this one is the last.
  const Callback::Traversal traversal;
  const auto callback = callback_.lock();
  if (callback != nullptr && !is_finished_) Py_VISIT(callback->get());
  return 0;
}

void PyLiveStream::Finalize() {
  if (!is_finished_ && process_.is_here()) Cancel();
}

void PyLiveStream::Clear() { const Object dropped = std::move(recognizer_); }

Object PyLiveStream::Poll(double timeout_s) {
  if (!is_polled_) {
    throw std::invalid_argument("the stream has a callback, expected one that is polled");
  }
  if (timeout_s > 0) RefuseInCallback("a callback waits for an update, expected another thread");
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (true) {
    const double waited_s = std::chrono::duration<double>(Clock::now() - start).count();
    const double left_ms = (timeout_s - waited_s) * 1e3;
    const auto interval_ms = static_cast<double>(kSignalInterval.count());
    LiveUpdate update;
    bool is_over = false;
    const bool has_update = With([&](LiveStream& stream) {
      stream.WaitForUpdate(std::min(left_ms, interval_ms));
      is_over = stream.is_over();  // first, so that the final update is not missed
      return stream.Poll(&update);
    });
    if (has_update) return text_.Add(update, model_->tokens());
    if (is_over || !(left_ms > interval_ms)) return None();
    RaiseSignals();
  }
}

PyRecognizer::PyRecognizer(Object model, const RecognizerOptions& options)
    : model_object_(std::move(model)),
      model_(HeldBy<Model>(model_object_)),
      recognizer_(new Recognizer(model_, options),
                  [process = process_](Recognizer* recognizer) { Delete(recognizer, process); }) {
  if (is_ending) throw std::runtime_error("the interpreter ends, so no recognizer can be made");
  OpenRecognizers().insert(this);
}

PyRecognizer::~PyRecognizer() { OpenRecognizers().erase(this); }

std::shared_ptr<Recognizer> PyRecognizer::Get() const {
  if (recognizer_ == nullptr) throw std::invalid_argument("the recognizer is closed");
  process_.Require("the recognizer");
  return recognizer_;
}

void PyRecognizer::Close() {
  RefuseInCallback("a callback closes the recognizer, expected another thread");
  OpenRecognizers().erase(this);
  const std::shared_ptr<Recognizer> closed = std::move(recognizer_);
}

void PyRecognizer::CloseAll() {
  is_ending = true;
  while (!OpenRecognizers().empty()) (*OpenRecognizers().begin())->Close();
}

}  // namespace runnel::python
