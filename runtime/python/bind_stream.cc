#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/python/arguments.h"
#include "runtime/python/bindings.h"
#include "runtime/python/class.h"
#include "runtime/python/computation.h"
#include "runtime/python/gil.h"
#include "runtime/python/locked.h"
#include "runtime/python/results.h"
#include "runtime/python/stream_options.h"
#include "runtime/stream.h"

namespace runnel::python {
namespace {

using LockedStream = Locked<Stream>;

// A stream and its model, whose tokens results need.
class PyStream : public LockedStream {
 public:
  PyStream(Stream stream, std::shared_ptr<const Model> model)
      : LockedStream(std::move(stream), "the stream"), model_(std::move(model)) {}

  template <typename Use>
  auto With(const Use& use) {
    return LockedStream::With([&use](Stream& stream) {
      const Computation computation;
      return use(stream);
    });
  }
  const Model& model() const { return *model_; }
  std::unique_ptr<PyStream> Copy() {
    return std::make_unique<PyStream>(With([](Stream& stream) { return stream; }), model_);
  }

 private:
  const std::shared_ptr<const Model> model_;
};

std::unique_ptr<PyStream> OpenWith(const std::shared_ptr<Model>& model,
                                   const StreamOptions& options) {
  if (options.early_text.interval > 0) {
    throw std::invalid_argument("early_text_interval is " +
                                std::to_string(options.early_text.interval) +
                                ", expected 0: only a live stream has tentative text before a "
                                "chunk is complete");
  }
  const ReleasedGil released;
  const Computation computation;
  return std::make_unique<PyStream>(Stream(model, options), model);
}

std::unique_ptr<PyStream> Open(const Object& model_object, const Keywords& keywords) {
  const std::shared_ptr<Model> model = ModelOf(model_object);
  return OpenWith(model, StreamOptionsFrom(model, keywords));
}

// `recording`: an AudioSource, or an array of samples.
bool EndsWithin(double seconds, const Object& recording, int rate_hz) {
  if (const auto source = HeldBy<Locked<AudioSource>>(recording)) {
    return source->With([seconds](AudioSource& audio) { return audio.EndsWithin(seconds); });
  }
  return static_cast<double>(Samples(recording).size()) <= seconds * rate_hz;
}

std::unique_ptr<PyStream> OpenForRecording(const Object& model_object, const Object& recording,
                                           const Keywords& keywords) {
  const std::shared_ptr<Model> model = ModelOf(model_object);
  StreamOptions options = StreamOptionsFrom(model, keywords);
  const int rate_hz = options.sample_rate_hz == StreamOptions::kModelRate ? model->sample_rate_hz()
                                                                          : options.sample_rate_hz;
  const std::optional<double> longest_s = LongestWholeS(*model, options);
  if (longest_s.has_value() && EndsWithin(*longest_s, recording, rate_hz)) {
    options.chunk_size = StreamOptions::kWholeUtterance;
  }
  return OpenWith(model, options);
}

std::unique_ptr<PyStream> Restore(const Object& model_object, const Object& snapshot,
                                  const Object& word_list, const Object& language_model,
                                  const Object& nbest) {
  const std::shared_ptr<Model> model = ModelOf(model_object);
  const RestoreOptions options = RestoreOptionsFrom(model, word_list, language_model, nbest);
  const std::string bytes = SnapshotBytes(snapshot);
  const ReleasedGil released;
  const Computation computation;
  return std::make_unique<PyStream>(Stream::Restore(model, bytes, options), model);
}

// Stream::Decode, which Ctrl-C interrupts between two chunks.
void Decode(Stream* stream) {
  SignalWatch signals;
  while (stream->ChunkReady() && DecodeChunks({stream}) > 0) signals.Look();
  stream->Decode();  // throws the failure
}

void AcceptSamples(PyStream* self, const Object& samples) {
  const Samples given(samples);
  self->With([&given](Stream& stream) {
    const std::vector<float> values = given.ReadAll();
    stream.AcceptSamples(values.data(), values.size());
  });
}

void Accept(PyStream* self, const Object& samples) {
  const Samples given(samples);
  self->With([&given](Stream& stream) {
    const std::vector<float> values = given.ReadAll();
    stream.AcceptSamples(values.data(), values.size());
    Decode(&stream);
  });
}

void AcceptFeatures(PyStream* self, const Object& frames) {
  const int dim = self->model().feature_dim();
  self->With([dim, values = FramesOf(frames, dim)](Stream& stream) {
    stream.AcceptFeatures(values.data(), values.size() / static_cast<size_t>(dim));
  });
}

Object Utterances(PyStream* self) {
  return ToPython(self->With([](Stream& stream) { return stream.TakeUtterances(); }),
                  self->model().tokens());
}

Object Finish(PyStream* self) {
  self->With([](Stream& stream) {
    stream.Finish();
    Decode(&stream);
  });
  return Utterances(self);
}

Object NBest(PyStream* self, const Object& n) {
  const int most = ValueOf<int>("n", n);
  if (most < 1) RaiseValueError("n", n, "at least 1");
  return ToPython(self->With([most](Stream& stream) { return stream.NBest(most); }),
                  self->model().tokens());
}

Object Snapshot(PyStream* self) {
  return Bytes(self->With([](Stream& stream) { return stream.Snapshot(); }));
}

size_t DecodeChunksOf(const Object& list) {
  if (PySequence_Check(list.get()) == 0) RaiseTypeError("streams", list, "a list of Stream");
  // The list may change while the GIL is free.
  std::vector<std::shared_ptr<PyStream>> streams;
  for (Py_ssize_t i = 0;; ++i) {
    const Py_ssize_t size = PySequence_Size(list.get());
    if (size < 0) throw ExceptionIsSet();
    if (i >= size) break;
    streams.push_back(HeldBy<PyStream>(Object::Own(PySequence_GetItem(list.get(), i))));
    if (streams.back() == nullptr) RaiseTypeError("streams", list, "a list of Stream");
  }
  const ReleasedGil released;
  // In one order in all threads, so that two calls with the same streams do not deadlock.
  std::sort(streams.begin(), streams.end());
  if (std::adjacent_find(streams.begin(), streams.end()) != streams.end()) {
    throw std::invalid_argument("decode_chunks: a stream is listed twice, expected each once");
  }
  std::vector<LockedStream::Lock> locks;
  std::vector<Stream*> ready;
  for (const std::shared_ptr<PyStream>& stream : streams) {
    locks.emplace_back(stream.get());
    ready.push_back(&stream->Get());
  }
  const Computation computation;
  return DecodeChunks(ready);
}

// Defines a property that reads the stream.
template <typename Read>
void Property(Class<PyStream>* stream, const char* name, const char* doc, const Read& read) {
  stream->Property(
      name, [read](PyStream& self) { return self.With(read); }, doc);
}

void BindReading(Class<PyStream>* stream) {
  Property(stream, "partial", "The text of the utterance that is spoken now, so far.",
           [](Stream& s) { return s.Text(); });
  Property(stream, "stable_partial",
           "The beginning of partial that no later audio changes. With greedy search: all of it.",
           [](Stream& s) { return s.Text().substr(0, s.StableTextSize()); });
  Property(stream, "utterance_index", "Index of the utterance of partial and nbest.",
           [](Stream& s) { return s.utterance_index(); });
  Property(stream, "chunk_ready", "Whether decode would decode a chunk.",
           [](Stream& s) { return s.ChunkReady(); });
  Property(stream, "finished", "Whether the audio has ended.",
           [](Stream& s) { return s.finished(); });
  Property(stream, "is_final", "Whether the audio has ended and all of it is decoded.",
           [](Stream& s) { return s.IsFinal(); });
  Property(stream, "failure", "Why the stream no longer advances; empty while it does.",
           [](Stream& s) { return s.failure(); });
  Property(stream, "num_samples", "Samples accepted, at sample_rate_hz.",
           [](Stream& s) { return s.num_samples(); });
  Property(stream, "num_encoder_frames", "Encoder frames decoded.",
           [](Stream& s) { return s.num_encoder_frames(); });
  Property(stream, "chunk_size", "Encoder frames per chunk; -1: the whole utterance.",
           [](Stream& s) { return s.options().chunk_size; });
  Property(stream, "left_context", "Encoder frames before a chunk; -1: all.",
           [](Stream& s) { return s.options().left_context; });
  Property(stream, "right_context", "Encoder frames after a chunk in its window; -1: no windows.",
           [](Stream& s) { return s.options().right_context; });
  Property(stream, "cached_windows", "Whether windows compute their left context once.",
           [](Stream& s) { return s.options().cached_windows; });
  Property(stream, "sample_rate_hz", "Rate of the samples that the stream accepts.", [](Stream& s) {
    const int rate_hz = s.options().sample_rate_hz;
    return rate_hz == StreamOptions::kModelRate ? s.model().sample_rate_hz() : rate_hz;
  });
  stream->Method("utterances", kCall<&Utterances>, {},
                 "The utterances that ended since the last call, in order, each once.");
  stream->Method("nbest", kCall<&NBest>, {{"n", 1}},
                 "The n best hypotheses of the utterance that is spoken now, best first.");
}

}  // namespace

void BindStream(PyObject* module) {
  Class<PyStream> stream("Stream",
                         R"(One audio stream, decoded by the thread that feeds it.

Stream(model, **options) opens a stream; StreamOptions describes the options. A stream is a sequence
of utterances: they end by the rules of endpointing, by finalize_utterance and with the stream. Threads may
share a stream; their calls take turns. A signal handler that interrupts a call of a stream gets
RuntimeError from the methods of that stream. Raises ValueError for an option out of its range or not
permitted by the model.)");
  stream.Init(kCall<&Open>, {"model"})
      .Static(
          "restore", kCall<&Restore>,
          {{"model", "snapshot"}, {{"word_list", kNone}, {"language_model", kNone}, {"nbest", 0}}},
          R"(Continues from a snapshot, with bit-identical results on the CPU backend.

word_list and language_model: those of the stream, which the snapshot only names. nbest: 0 keeps
that of the stream. Raises SnapshotError for bytes that are not a snapshot of this model.)")
      .Static("_for_recording", kCall<&OpenForRecording>, {"model", "recording"},
              "A stream for an AudioSource or an array: of a short one the whole utterance.")
      .Method("accept", kCall<&Accept>, {"samples"},
              R"(Takes samples and decodes every chunk that they complete.

samples: (n,) float32 in [-1, 1] or int16 at sample_rate_hz, one channel, of any length. Raises
ValueError after finish and for a sample that is NaN or beyond 100 in magnitude. Ctrl-C interrupts
it between two chunks: the samples are accepted, and decode goes on.)")
      .Method("accept_samples", kCall<&AcceptSamples>, {"samples"},
              "As accept, but decodes nothing; see decode and decode_chunks.")
      .Method(
          "accept_features", kCall<&AcceptFeatures>, {"frames"},
          R"(Takes feature frames, (n, feature_dim) float32, in place of samples; decodes nothing.

Raises ValueError for a stream that has samples, and for a value that is not finite.)")
      .Method(
          "decode", [](PyStream& self) { self.With([](Stream& s) { Decode(&s); }); }, {},
          "Decodes every chunk that is ready. Raises DataError with failure if there is one.")
      .Method(
          "end_samples", [](PyStream& self) { self.With([](Stream& s) { s.Finish(); }); }, {},
          "Ends the audio: the rest of the samples becomes the last chunk. Decodes nothing.")
      .Method("finish", kCall<&Finish>, {},
              "Ends the audio, decodes the rest and returns utterances().")
      .Method(
          "finalize_utterance",
          [](PyStream& self) { self.With([](Stream& s) { s.FinalizeUtterance(); }); }, {},
          "Ends the utterance now, as if the audio ended here; the stream goes on.")
      .Method(
          "reset", [](PyStream& self) { self.With([](Stream& s) { s.Reset(); }); }, {},
          "Returns to the state after construction, with the same options.")
      .Method("snapshot", kCall<&Snapshot>, {},
              "The state of the stream, for restore in any process.")
      .Method("fork", kCall<&PyStream::Copy>, {},
              "A copy, which continues independently from this point.")
      .Method(
          "close", [](PyStream& self) { self.Close(); }, {},
          "Frees the memory of the stream. Later calls raise ValueError.")
      .Repr([](const PyStream& self) { return "<runnel.Stream: " + self.model().name() + ">"; })
      .Context([](PyStream& self) { self.Close(); });
  BindReading(&stream);
  stream.AddTo(module);
  AddFunction(module, "decode_chunks", kCall<&DecodeChunksOf>, {"streams"},
              R"(Decodes one chunk of every stream that has one ready, all in one batch.

Returns how many streams advanced. Each gets the results that it would get alone. A stream whose
failure is set is skipped. Raises ValueError when the streams are of different models.)");
}

}  // namespace runnel::python
