#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"
#include "frontend/resampler.h"
#include "frontend/sample_range.h"
#include "runtime/python/arguments.h"
#include "runtime/python/array.h"
#include "runtime/python/bindings.h"
#include "runtime/python/class.h"
#include "runtime/python/gil.h"
#include "runtime/python/locked.h"

namespace runnel::python {
namespace {

using LockedSource = Locked<AudioSource>;

constexpr int64_t kBlockSamples = 1 << 16;  // read at a time, between two looks for signals

std::unique_ptr<LockedSource> Open(const Object& path, const Object& rate_hz, const Object& channel,
                                   const Object& audio_track) {
  const std::string file = ExistingFile(path);
  const int hz = ValueOf<int>("rate_hz", rate_hz);
  AudioReaderOptions options;
  options.channel = ValueOf<int>("channel", channel);
  options.audio_track = ValueOf<int>("audio_track", audio_track);
  const ReleasedGil released;
  return std::make_unique<LockedSource>(AudioSource(file, hz, options), "the audio source");
}

// Memory is that of the samples there are, not of max_samples.
Object Read(LockedSource* source, const Object& max_samples) {
  const int64_t most = max_samples.is_none() ? std::numeric_limits<int64_t>::max()
                                             : ValueOf<int64_t>("max_samples", max_samples);
  if (most < 0) RaiseValueError("max_samples", max_samples, "at least 0");
  return ArrayFrom(source->With([most](AudioSource& audio) {
    SignalWatch signals;
    std::vector<float> samples;
    size_t size = 0;
    for (size_t wanted = 1, read = 1; read == wanted && static_cast<int64_t>(size) < most;) {
      wanted = static_cast<size_t>(std::min(most - static_cast<int64_t>(size), kBlockSamples));
      samples.resize(size + wanted);
      read = audio.Read(samples.data() + size, wanted);
      size += read;
      signals.Look();
    }
    samples.resize(size);
    samples.shrink_to_fit();
    return samples;
  }));
}

Object Resample(const Object& samples, const Object& in_rate_hz, const Object& out_rate_hz) {
  const Samples given(samples);
  const int in_hz = ValueOf<int>("in_rate_hz", in_rate_hz);
  const int out_hz = ValueOf<int>("out_rate_hz", out_rate_hz);
  std::vector<float> output;
  {
    const ReleasedGil released;
    const std::vector<float> input = given.ReadAll();
    const size_t bad = FindBadSample(input.data(), input.size());
    if (bad < input.size()) {
      throw std::invalid_argument(BadSampleMessage(static_cast<int64_t>(bad), input[bad]));
    }
    Resampler resampler(in_hz, out_hz);
    resampler.Process(input.data(), input.size(), &output);
    resampler.Flush(&output);
  }
  return ArrayFrom(std::move(output));
}

}  // namespace

void BindAudio(PyObject* module) {
  Class<LockedSource>("AudioSource",
                      R"(Reads an audio file, or a pipe, as mono samples at a chosen rate.

path: a file of a format that libsndfile reads, or "-" for standard input. rate_hz: rate of the
samples that read returns. channel: counted from 0; -1: the mean of all. audio_track: of a
file with several, counted from 0; -1: the main one.)")
      .Init(kCall<&Open>, {"path", "rate_hz", {"channel", -1}, {"audio_track", -1}})
      .Method("read", kCall<&Read>, {{"max_samples", kNone}},
              R"(The next samples, (n,) float32: max_samples, fewer only at the end, then none.

None: all that are left.)")
      .Property(
          "duration_s",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.duration_s(); });
          },
          "Seconds of the whole input; None if not known before reading.")
      .Property(
          "seconds_read",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.seconds_read(); });
          },
          "Seconds of the input read so far.")
      .Property(
          "announced_s",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.announced_s(); });
          },
          "Seconds that the header announces; None if it announces none.")
      .Property(
          "warnings",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.Warnings(); });
          },
          "When all is read: what of the recording is damaged, cut off or left out, one line each.")
      .AddTo(module);
  AddFunction(module, "resample", kCall<&Resample>, {"samples", "in_rate_hz", "out_rate_hz"},
              R"(Converts samples, (n,) float32 in [-1, 1] or int16, to another rate.

Returns (round(n * out_rate_hz / in_rate_hz),) float32, aligned with the input.
Raises ValueError for a sample that is NaN or far outside [-1, 1].)");
}

}  // namespace runnel::python
