#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/gil.h"
#include "runtime/python/live.h"
#include "runtime/python/results.h"
#include "runtime/python/stream_options.h"
#include "runtime/recognizer.h"

namespace py = pybind11;

namespace runnel::python {
namespace {

std::unique_ptr<PyRecognizer> MakeRecognizer(const py::object& model, const py::object& num_threads,
                                             const py::object& max_batch_streams,
                                             const py::object& max_batch_wait_ms,
                                             const py::object& max_buffered_s) {
  RecognizerOptions options;
  options.num_threads = ValueOf<int>("num_threads", num_threads);
  options.max_batch_streams = ValueOf<int>("max_batch_streams", max_batch_streams);
  options.max_batch_wait_ms = ValueOf<double>("max_batch_wait_ms", max_batch_wait_ms);
  options.max_buffered_s = ValueOf<double>("max_buffered_s", max_buffered_s);
  if (!py::isinstance<Model>(model)) RaiseTypeError("model", model, "a Model");
  return std::make_unique<PyRecognizer>(model.cast<std::shared_ptr<Model>>(), options);
}

// `open` runs without the GIL: it returns a stream of the recognizer.
template <typename Open>
std::unique_ptr<PyLiveStream> LiveStreamFrom(const py::object& recognizer, const Listener& listener,
                                             const Open& open) {
  const auto& self = recognizer.cast<const PyRecognizer&>();
  std::shared_ptr<LiveStream> stream;
  {
    const std::shared_ptr<Recognizer> opened_by = self.Get();
    const ReleasedGil released;
    stream = open(opened_by.get());
  }
  return std::make_unique<PyLiveStream>(std::move(stream), listener, recognizer, self.model());
}

std::unique_ptr<PyLiveStream> Open(const py::object& recognizer, const py::object& on_update,
                                   const py::kwargs& keywords) {
  const auto model = recognizer.cast<const PyRecognizer&>().model();
  const StreamOptions options = StreamOptionsFrom(model, keywords);
  const Listener listener(on_update, model);
  return LiveStreamFrom(recognizer, listener, [&](Recognizer* opener) {
    return opener->Open(options, listener.on_update);
  });
}

std::unique_ptr<PyLiveStream> Restore(const py::object& recognizer, const py::object& snapshot,
                                      const py::object& on_update, const py::object& word_list,
                                      const py::object& language_model, const py::object& nbest) {
  const auto model = recognizer.cast<const PyRecognizer&>().model();
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

py::object Status(const PyRecognizer& self) {
  const std::shared_ptr<Recognizer> recognizer = self.Get();
  RecognizerStatus status;
  {
    const ReleasedGil released;
    status = recognizer->status();
  }
  return ToPython(status);
}

}  // namespace

void BindRecognizer(py::module_* module) {
  const RecognizerOptions defaults;
  py::class_<PyRecognizer>(*module, "Recognizer",
                           R"(Worker threads that decode many live streams in batches.

num_threads: workers, each on one core. max_batch_streams: most streams in a batch.
max_batch_wait_ms: longest wait of a chunk for others. max_buffered_s: most undecoded audio of a
stream, in seconds. Every method may be called from any thread. Raises ValueError for an option out
of its range.)")
      .def(py::init(&MakeRecognizer), py::arg("model"), py::kw_only(),
           py::arg("num_threads") = defaults.num_threads,
           py::arg("max_batch_streams") = defaults.max_batch_streams,
           py::arg("max_batch_wait_ms") = defaults.max_batch_wait_ms,
           py::arg("max_buffered_s") = defaults.max_buffered_s,
           py::keep_alive<1, 2>())  // so that `model` is the object that was given
      .def("open", &Open, py::arg("on_update") = py::none(),
           R"(Opens a live stream with the options of StreamOptions.

on_update: called with each LiveUpdate by a worker thread, one call at a time and in order. The
worker waits for it, so it should be short, and must not wait for the recognizer. An exception in it
goes to sys.unraisablehook. None: the stream is polled. The stream keeps the recognizer alive.)")
      .def("restore", &Restore, py::arg("snapshot"), py::arg("on_update") = py::none(),
           py::kw_only(), py::arg("word_list") = py::none(), py::arg("language_model") = py::none(),
           py::arg("nbest") = 0,
           "Continues a stream from a snapshot of Stream or LiveStream; see Stream.restore.")
      .def("__repr__", &Describe)
      .def("status", &Status, "Counts and durations since the recognizer was made.")
      .def_property_readonly("model", &PyRecognizer::model, "The model that was given.")
      .def("close", &PyRecognizer::Close,
           "Cancels the streams that are left and waits for the workers. Not in a callback.")
      .def(
          "__enter__", [](PyRecognizer& self) -> PyRecognizer& { return self; },
          py::return_value_policy::reference)
      .def("__exit__", [](PyRecognizer& self, const py::args&) { self.Close(); });
  py::module_::import("atexit").attr("register")(py::cpp_function(&PyRecognizer::CloseAll));
}

}  // namespace runnel::python
