#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/callback.h"
#include "runtime/python/class.h"
#include "runtime/python/live.h"

namespace runnel::python {
namespace {

void NotifyRoom(PyLiveStream* self, const Object& on_room) {
  if (PyCallable_Check(on_room.get()) == 0) RaiseTypeError("on_room", on_room, "a callable");
  const Callback callback(on_room);
  self->With(
      [&callback](LiveStream& stream) { stream.NotifyRoom([callback] { callback.Call(); }); });
}

Object Snapshot(PyLiveStream* self) {
  return Bytes(self->With([](LiveStream& stream) { return stream.Snapshot(); }));
}

std::unique_ptr<PyLiveStream> Fork(PyLiveStream* self, const Object& on_update) {
  const Listener listener(on_update, self->model());
  auto fork = self->With([&](LiveStream& stream) { return stream.Fork(listener.on_update); });
  return std::make_unique<PyLiveStream>(std::move(fork), listener, self->recognizer(),
                                        self->model());
}

Object Poll(PyLiveStream* self, const Object& timeout_s) {
  return self->Poll(ValueOf<double>("timeout_s", timeout_s));
}

Object Next(PyLiveStream* self) {
  Object update = self->Poll(std::numeric_limits<double>::infinity());
  return update.is_none() ? Object() : update;
}

}  // namespace

void BindLiveStream(PyObject* module) {
  Class<PyLiveStream>("LiveStream",
                      R"(One live stream of a Recognizer, which opens it.

Fed from any thread. Read by the callback given to open, or, without one, by poll or by iteration
(`for update in stream`) until the final update. A stream that is dropped before finish is cancelled;
after finish it is decoded to its end, if the recognizer lives. `with` cancels a stream that is not
over.)")
      .Collected()
      .Method("accept", kCall<&PyLiveStream::Accept>, {"samples"},
              R"(Takes samples, (n,) float32 in [-1, 1] or int16 at the stream's rate, one channel.

Waits while the stream has no room. Returns False when the stream is over, which happens after an
error in the audio and after cancel. Raises ValueError after finish, and in a callback.)")
      .Method("accept_now", kCall<&PyLiveStream::AcceptNow>, {"samples"},
              "Takes as many samples as there is room for and returns their number; never waits.")
      .Property(
          "room",
          [](PyLiveStream& self) { return self.With([](LiveStream& s) { return s.Room(); }); },
          "The number of samples that accept_now would take.")
      .Method("notify_room", kCall<&NotifyRoom>, {"on_room"},
              R"(Calls on_room() once, when half of the room is free or the stream waits or is over.

At once if that is so now, else later from a worker. A second call replaces the first.)")
      .Method(
          "finalize_utterance",
          [](PyLiveStream& self) {
            return self.With([](LiveStream& s) { return s.FinalizeUtterance(); });
          },
          {}, "Ends the utterance after the samples accepted so far; the stream goes on.")
      .Method("finish", kCall<&PyLiveStream::Finish>, {},
              "Ends the audio. The rest is decoded, then comes the final update.")
      .Method("cancel", kCall<&PyLiveStream::Cancel>, {},
              "Ends the stream. Nothing more is decoded, and no callback runs afterwards.")
      .Property(
          "is_over",
          [](PyLiveStream& self) { return self.With([](LiveStream& s) { return s.is_over(); }); },
          "Whether no update comes any more, except one that poll can take.")
      .Method("poll", kCall<&Poll>, {{"timeout_s", 0.0}},
              R"(The changes since the last poll as one LiveUpdate; None if there are none.

Waits for them for timeout_s seconds at most. Raises ValueError for a stream with a callback and,
unless timeout_s is 0, in a callback.)")
      .Next(kCall<&Next>)
      .Method("snapshot", kCall<&Snapshot>, {},
              R"(The stream with all samples accepted so far, for Recognizer.restore in any process.

Updates that poll or the callback brought are not repeated. Raises ValueError after cancel and after an
error.)")
      .Method("fork", kCall<&Fork>, {{"on_update", kNone}},
              "A second stream that continues from this point independently.")
      .Property(
          "num_samples",
          [](PyLiveStream& self) {
            return self.With([](LiveStream& s) { return s.num_samples(); });
          },
          "Samples accepted, including those before restore or fork.")
      .Context([](PyLiveStream& self) { self.Cancel(); })
      .Repr([](const PyLiveStream& self) {
        return "<runnel.LiveStream: " + self.model()->name() + ">";
      })
      .AddTo(module);
}

}  // namespace runnel::python
