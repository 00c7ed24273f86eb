// Recognizer and LiveStream as Python holds them.
#ifndef RUNNEL_RUNTIME_PYTHON_LIVE_H_
#define RUNNEL_RUNTIME_PYTHON_LIVE_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/live_stream.h"
#include "runtime/python/arguments.h"
#include "runtime/python/gil.h"
#include "runtime/python/object.h"
#include "runtime/python/results.h"
#include "runtime/recognizer.h"

namespace runnel::python {

// The process of an object with worker threads. A child of fork has neither these threads nor those
// that would give back the locks that they held.
class Process {
 public:
  bool is_here() const { return getpid() == id_; }
  // Throws std::logic_error, which becomes RuntimeError, in a child. `name`: of the object.
  void Require(const std::string& name) const;

 private:
  const pid_t id_ = getpid();
};

// What a live stream calls with its updates, made of a function of Python; nothing for None.
struct Listener {
  // Raises TypeError for anything else.
  Listener(const Object& function, const std::shared_ptr<const Model>& model);

  UpdateCallback on_update;  // for Recognizer::Open and LiveStream::Fork, which free the function
  std::weak_ptr<const Object> function;
};

// A live stream and, when it is polled, the text of its updates. Methods need the GIL, and release
// it for calls that wait. Its recognizer lives as long as it.
class PyLiveStream {
 public:
  PyLiveStream(std::shared_ptr<LiveStream> stream, const Listener& listener, Object recognizer,
               std::shared_ptr<const Model> model);
  // May wait for a callback that needs the GIL, so it releases it.
  ~PyLiveStream();
  PyLiveStream(const PyLiveStream&) = delete;
  PyLiveStream& operator=(const PyLiveStream&) = delete;

  // Returns use(stream), which runs without the GIL: a thread that holds a lock of the stream may
  // wait for the GIL, to free a callback.
  template <typename Use>
  auto With(const Use& use) {
    process_.Require("the stream");
    const ReleasedGil released;
    return use(*stream_);
  }
  const std::shared_ptr<const Model>& model() const { return model_; }
  const Object& recognizer() const { return recognizer_; }

  // Waits until all are taken or the stream is over. False: it is over. Throws
  // std::invalid_argument in a callback, as only the thread of that callback might make room.
  bool Accept(const Object& samples);
  // Takes what there is room for; returns the number.
  size_t AcceptNow(const Object& samples);
  // The next update as soon as there is one; None after `timeout_s` and when the stream is over.
  // Throws std::invalid_argument for a stream with a callback and, unless timeout_s is 0, in a
  // callback.
  Object Poll(double timeout_s);
  void Finish();
  void Cancel();

  // For the garbage collector, which finds a stream that its callback refers to. Such a stream is
  // cancelled when nothing else refers to it, which frees the callback. Not so after Finish: it is
  // decoded to its end, and still calls.
  int Traverse(visitproc visit, void* arg) const;
  void Finalize();
  void Clear();

 private:
  // As AcceptNow from sample `begin` on. Needs no GIL.
  size_t Offer(const Samples& samples, size_t begin);

  const Process process_;
  std::shared_ptr<LiveStream> stream_;
  const bool is_polled_;
  const std::weak_ptr<const Object> callback_;
  Object recognizer_;
  const std::shared_ptr<const Model> model_;
  LiveText text_;
  bool is_finished_ = false;  // guarded by the GIL
};

// A recognizer until it is closed. Methods need the GIL.
class PyRecognizer {
 public:
  // Throws std::runtime_error after CloseAll.
  PyRecognizer(Object model, const RecognizerOptions& options);
  ~PyRecognizer();
  PyRecognizer(const PyRecognizer&) = delete;
  PyRecognizer& operator=(const PyRecognizer&) = delete;

  // Throws std::invalid_argument after Close, std::logic_error in a child of fork. The last
  // reference may be dropped with or without the GIL.
  std::shared_ptr<Recognizer> Get() const;
  const std::shared_ptr<Model>& model() const { return model_; }
  // The object that was given.
  const Object& model_object() const { return model_object_; }

  // Cancels the streams that are left and waits for the workers, without the GIL. Throws
  // std::invalid_argument in a callback.
  void Close();

  // Closes all, for good: at the end of the interpreter, whose callbacks must not
  // run later.
  static void CloseAll();

 private:
  const Process process_;
  const Object model_object_;
  const std::shared_ptr<Model> model_;
  std::shared_ptr<Recognizer> recognizer_;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_LIVE_H_
