#include <memory>
#include <string>
#include <utility>

#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/class.h"
#include "runtime/python/gil.h"
#include "runtime/python/live.h"
#include "runtime/python/results.h"
#include "runtime/python/stream_options.h"
#include "runtime/recognizer.h"

namespace runnel::python {
namespace {

std::unique_ptr<PyRecognizer> MakeRecognizer(const Object& model, const Object& num_threads,
                                             const Object& max_batch_streams,
                                             const Object& max_batch_wait_ms,
                                             const Object& max_buffered_s) {
  RecognizerOptions options;
  options.num_threads = ValueOf<int>("num_threads", num_threads);
  options.max_batch_streams = ValueOf<int>("max_batch_streams", max_batch_streams);
  options.max_batch_wait_ms = ValueOf<double>("max_batch_wait_ms", max_batch_wait_ms);
  options.max_buffered_s = ValueOf<double>("max_buffered_s", max_buffered_s);
  static_cast<void>(ModelOf(model));  // raises for another object
  return std::make_unique<PyRecognizer>(model, options);
}

std::shared_ptr<PyRecognizer> RecognizerOf(const Object& self) {
  std::shared_ptr<PyRecognizer> recognizer = HeldBy<PyRecognizer>(self);
  if (recognizer == nullptr) Raise(PyExc_TypeError, "__init__ of the recognizer has not run");
  return recognizer;
}

// `open` runs without the GIL: it returns a stream of the recognizer.
template <typename Open>
std::unique_ptr<PyLiveStream> LiveStreamFrom(const Object& recognizer, const Listener& listener,
                                             const Open& open) {
  const std::shared_ptr<PyRecognizer> self = RecognizerOf(recognizer);
  std::shared_ptr<LiveStream> stream;
  {
    const std::shared_ptr<Recognizer> opened_by = self->Get();
    const ReleasedGil released;
    stream = open(opened_by.get());
  }
  return std::make_unique<PyLiveStream>(std::move(stream), listener, recognizer, self->model());
}

std::unique_ptr<PyLiveStream> Open(const Object& recognizer, const Object& on_update,
                                   const Keywords& keywords) {
  const std::shared_ptr<Model> model = RecognizerOf(recognizer)->model();
  const StreamOptions options = StreamOptionsFrom(model, keywords);
  const Listener listener(on_update, model);
  return LiveStreamFrom(recognizer, listener, [&](Recognizer* opener) {
    return opener->Open(options, listener.on_update);
  });
}

std::unique_ptr<PyLiveStream> Restore(const Object& recognizer, const Object& snapshot,
                                      const Object& on_update, const Object& word_list,
                                      const Object& language_model, const Object& nbest) {
  const std::shared_ptr<Model> model = RecognizerOf(recognizer)->model();
  const RestoreOptions options = RestoreOptionsFrom(model, word_list, language_model, nbest);
  const std::string bytes = SnapshotBytes(snapshot);
  const Listener listener(on_update, model);
  return LiveStreamFrom(recognizer, listener, [&](Recognizer* opener) {
    return opener->Restore(bytes, listener.on_update, options);
  });
}

std::string Describe(const PyRecognizer& self) {
  return "<runnel.Recognizer: " + self.model()->name() + ">";
}

Object Status(const PyRecognizer& self) {
  const std::shared_ptr<Recognizer> recognizer = self.Get();
  RecognizerStatus status;
  {
    const ReleasedGil released;
    status = recognizer->status();
  }
  return ToPython(status);
}

}  // namespace

void BindRecognizer(PyObject* module) {
  const RecognizerOptions defaults;
  Class<PyRecognizer>("Recognizer",
                      R"(Worker threads that decode many live streams in batches.

num_threads: workers, each on one core. max_batch_streams: most streams in a batch.
max_batch_wait_ms: longest wait of a chunk for others. max_buffered_s: most undecoded audio of a
stream, in seconds. Every method may be called from any thread. Raises ValueError for an option out
of its range.)")
      .Init(kCall<&MakeRecognizer>, {{"model"},
                                     {{"num_threads", defaults.num_threads},
                                      {"max_batch_streams", defaults.max_batch_streams},
                                      {"max_batch_wait_ms", defaults.max_batch_wait_ms},
                                      {"max_buffered_s", defaults.max_buffered_s}}})
      .Method("open", kCall<&Open>, {{"on_update", kNone}},
              R"(Opens a live stream with the options of StreamOptions.

on_update: called with each LiveUpdate by a worker thread, one call at a time and in order. The
worker waits for it, so it should be short, and must not wait for the recognizer. An exception in it
goes to sys.unraisablehook. None: the stream is polled. The stream keeps the recognizer alive.)")
      .Method("restore", kCall<&Restore>,
              {{"snapshot", {"on_update", kNone}},
               {{"word_list", kNone}, {"language_model", kNone}, {"nbest", 0}}},
              "Continues a stream from a snapshot of Stream or LiveStream; see Stream.restore.")
      .Repr(kCall<&Describe>)
      .Method("status", kCall<&Status>, {}, "Counts and durations since the recognizer was made.")
      .Property("model", kCall<&PyRecognizer::model_object>, "The model that was given.")
      .Method("close", kCall<&PyRecognizer::Close>, {},
              "Cancels the streams that are left and waits for the workers. Not in a callback.")
      .Context([](PyRecognizer& self) { self.Close(); })
      .AddTo(module);
  AddFunction(module, "_close_all", kCall<&PyRecognizer::CloseAll>, {},
              "Closes all recognizers, for good.");
  Import("atexit").Attribute("register")(Object::Share(module).Attribute("_close_all"));
}

}  // namespace runnel::python
