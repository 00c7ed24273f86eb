#include <pybind11/pybind11.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/callback.h"
#include "runtime/python/live.h"

namespace py = pybind11;

namespace runnel::python {
namespace {

void NotifyRoom(PyLiveStream* self, const py::object& on_room) {
  if (PyCallable_Check(on_room.ptr()) == 0) RaiseTypeError("on_room", on_room, "a callable");
  const Callback callback(py::reinterpret_borrow<py::function>(on_room));
  self->With(
      [&callback](LiveStream& stream) { stream.NotifyRoom([callback] { callback.Call(); }); });
}

py::bytes Snapshot(PyLiveStream* self) {
  return self->With([](LiveStream& stream) { return stream.Snapshot(); });
}

std::unique_ptr<PyLiveStream> Fork(PyLiveStream* self, const py::object& on_update) {
  const Listener listener(on_update, self->model());
  auto fork = self->With([&](LiveStream& stream) { return stream.Fork(listener.on_update); });
  return std::make_unique<PyLiveStream>(std::move(fork), listener, self->recognizer(),
                                        self->model());
}

py::object Poll(PyLiveStream* self, const py::object& timeout_s) {
  return self->Poll(ValueOf<double>("timeout_s", timeout_s));
}

py::object Next(PyLiveStream* self) {
  py::object update = self->Poll(std::numeric_limits<double>::infinity());
  if (update.is_none()) throw py::stop_iteration();
  return update;
}

// The stream of an object of Python; null for one that was not constructed.
PyLiveStream* StreamOf(PyObject* object) {
  const auto held = reinterpret_cast<py::detail::instance*>(object)->get_value_and_holder();
  return held.holder_constructed() ? static_cast<PyLiveStream*>(held.value_ptr()) : nullptr;
}

// Lets the garbage collector find a stream whose callback refers to it.
void SetUpCollection(PyHeapTypeObject* heap_type) {
  PyTypeObject* type = &heap_type->ht_type;
  type->tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const PyLiveStream* stream = StreamOf(self);
    return stream == nullptr ? 0 : stream->Traverse(visit, arg);
  };
  type->tp_finalize = [](PyObject* self) {
    const py::error_scope raised;  // which is not that of this function
    if (PyLiveStream* stream = StreamOf(self)) stream->Finalize();
  };
  type->tp_clear = [](PyObject* self) {
    if (PyLiveStream* stream = StreamOf(self)) stream->Clear();
    return 0;
  };
  type->tp_dealloc = [](PyObject* self) {
    PyObject_GC_UnTrack(self);  // the destructor releases the GIL
    const PyObject* base = py::detail::get_internals().instance_base;
    reinterpret_cast<const PyTypeObject*>(base)->tp_dealloc(self);
  };
}

}  // namespace

void BindLiveStream(py::module_* module) {
  py::class_<PyLiveStream>(*module, "LiveStream",
                           R"(One live stream of a Recognizer, which opens it.

Fed from any thread. Read by the callback given to open, or, without one, by poll or by iteration
(`for update in stream`) until the final update. A stream that is dropped before finish is cancelled;
after finish it is decoded to its end, if the recognizer lives. `with` cancels a stream that is not
over.)",
                           py::custom_type_setup(&SetUpCollection))
      .def("accept", &PyLiveStream::Accept, py::arg("samples"),
           R"(Takes samples, (n,) float32 in [-1, 1] or int16 at the stream's rate, one channel.

Waits while the stream has no room. Returns False when the stream is over, which happens after an
error in the audio and after cancel. Raises ValueError after finish, and in a callback.)")
      .def("accept_now", &PyLiveStream::AcceptNow, py::arg("samples"),
           "Takes as many samples as there is room for and returns their number; never waits.")
      .def_property_readonly(
          "room",
          [](PyLiveStream& self) { return self.With([](LiveStream& s) { return s.Room(); }); },
          "The number of samples that accept_now would take.")
      .def("notify_room", &NotifyRoom, py::arg("on_room"),
           R"(Calls on_room() once, when half of the room is free or the stream waits or is over.

At once if that is so now, else later from a worker. A second call replaces the first.)")
      .def(
          "finalize_utterance",
          [](PyLiveStream& self) {
            return self.With([](LiveStream& s) { return s.FinalizeUtterance(); });
          },
          "Ends the utterance after the samples accepted so far; the stream goes on.")
      .def("finish", &PyLiveStream::Finish,
           "Ends the audio. The rest is decoded, then comes the final update.")
      .def("cancel", &PyLiveStream::Cancel,
           "Ends the stream. Nothing more is decoded, and no callback runs afterwards.")
      .def_property_readonly(
          "is_over",
          [](PyLiveStream& self) { return self.With([](LiveStream& s) { return s.is_over(); }); },
          "Whether no update comes any more, except one that poll can take.")
      .def("poll", &Poll, py::arg("timeout_s") = 0.0,
           R"(The changes since the last poll as one LiveUpdate; None if there are none.

Waits for them for timeout_s seconds at most. Raises ValueError for a stream with a callback and,
unless timeout_s is 0, in a callback.)")
      .def(
          "__iter__", [](PyLiveStream& self) -> PyLiveStream& { return self; },
          py::return_value_policy::reference)
      .def("__next__", &Next)
      .def("snapshot", &Snapshot,
           R"(The stream with all samples accepted so far, for Recognizer.restore in any process.

Updates that poll or the callback brought are not repeated. Raises ValueError after cancel and after an
error.)")
      .def("fork", &Fork, py::arg("on_update") = py::none(),
           "A second stream that continues from this point independently.")
      .def_property_readonly(
          "num_samples",
          [](PyLiveStream& self) {
            return self.With([](LiveStream& s) { return s.num_samples(); });
          },
          "Samples accepted, including those before restore or fork.")
      .def(
          "__enter__", [](PyLiveStream& self) -> PyLiveStream& { return self; },
          py::return_value_policy::reference)
      .def("__exit__", [](PyLiveStream& self, const py::args&) { self.Cancel(); })
      .def("__repr__", [](const PyLiveStream& self) {
        return "<runnel.LiveStream: " + self.model()->name() + ">";
      });
}

}  // namespace runnel::python
