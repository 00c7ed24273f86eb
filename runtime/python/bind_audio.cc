#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "frontend/audio_source.h"
#include "frontend/resampler.h"
#include "frontend/sample_range.h"
#include "runtime/python/arguments.h"
#include "runtime/python/array.h"
#include "runtime/python/bindings.h"
#include "runtime/python/gil.h"
#include "runtime/python/locked.h"

namespace py = pybind11;

namespace runnel::python {
namespace {

using LockedSource = Locked<AudioSource>;

constexpr int64_t kBlockSamples = 1 << 16;  // read at a time, between two looks for signals

std::unique_ptr<LockedSource> Open(const py::object& path, const py::object& rate_hz,
                                   const py::object& channel) {
  const std::string file = ExistingFile(path);
  const int hz = ValueOf<int>("rate_hz", rate_hz);
  AudioReaderOptions options;
  options.channel = ValueOf<int>("channel", channel);
  const ReleasedGil released;
  return std::make_unique<LockedSource>(AudioSource(file, hz, options), "the audio source");
}

// Memory is that of the samples there are, not of max_samples.
py::array_t<float> Read(LockedSource* source, const py::object& max_samples) {
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

py::array_t<float> Resample(const py::object& samples, const py::object& in_rate_hz,
                            const py::object& out_rate_hz) {
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

void BindAudio(py::module_* module) {
  py::class_<LockedSource>(*module, "AudioSource",
                           R"(Reads an audio file, or a pipe, as mono samples at a chosen rate.

path: a file of a format that libsndfile reads, or "-" for standard input. rate_hz: rate of the
samples that read returns. channel: counted from 0; -1: the mean of all.)")
      .def(py::init(&Open), py::arg("path"), py::arg("rate_hz"), py::arg("channel") = -1)
      .def("read", &Read, py::arg("max_samples") = py::none(),
           R"(The next samples, (n,) float32: max_samples, fewer only at the end, then none.

None: all that are left.)")
      .def_property_readonly(
          "duration_s",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.duration_s(); });
          },
          "Seconds of the whole input; None if not known before reading.")
      .def_property_readonly(
          "seconds_read",
          [](LockedSource& self) {
            return self.With([](auto& audio) { return audio.seconds_read(); });
          },
          "Seconds of the input read so far.");
  module->def("resample", &Resample, py::arg("samples"), py::arg("in_rate_hz"),
              py::arg("out_rate_hz"),
              R"(Converts samples, (n,) float32 in [-1, 1] or int16, to another rate.

Returns (round(n * out_rate_hz / in_rate_hz),) float32, aligned with the input.
Raises ValueError for a sample that is NaN or far outside [-1, 1].)");
}

}  // namespace runnel::python
