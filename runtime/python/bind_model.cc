#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoder/ctc_head.h"
#include "encoder/rows.h"
#include "frontend/feature_stream.h"
#include "runtime/model.h"
#include "runtime/model/encode_chunks.h"
#include "runtime/model/model_parts.h"
#include "runtime/options/model_options.h"
#include "runtime/options/option_error.h"
#include "runtime/python/arguments.h"
#include "runtime/python/array.h"
#include "runtime/python/bindings.h"
#include "runtime/python/computation.h"
#include "runtime/python/gil.h"
#include "runtime/python/option_keywords.h"
#include "runtime/python/results.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace runnel::python {
namespace {

ModelOptions OptionsFrom(const py::kwargs& keywords) {
  ModelOptions options;
  ForEachKeyword(ModelOptionTable(), keywords, "ModelOptions",
                 [&](const ModelOption& option, const py::handle& value) {
                   Set(option, ValueFrom(option, value), &options);
                 });
  return options;
}

std::shared_ptr<Model> Load(const py::object& path, const py::kwargs& keywords) {
  try {
    const ModelOptions options = OptionsFrom(keywords);
    const std::string file = ExistingFile(path);
    const ReleasedGil released;
    const Computation computation;
    return std::const_pointer_cast<Model>(Model::Load(file, options));
  } catch (const OptionError& error) {
    throw py::value_error(error.In(PythonOption));
  }
}

FeatureStream FeaturesOf(const Model& model, const std::vector<float>& samples) {
  FeatureStream features(model.parts().frame_extractor, model.parts().config.features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  return features;
}

// The next frames, at most `max_frames`.
std::vector<float> Pop(FeatureStream* features, int64_t max_frames) {
  const auto count = static_cast<size_t>(std::min(max_frames, features->NumFramesReady()));
  std::vector<float> frames(count * static_cast<size_t>(features->dim()));
  features->PopFrames(count, frames.data());
  return frames;
}

py::array Features(const Model& model, const py::object& samples) {
  const Samples given(samples);
  std::vector<float> frames;
  {
    const ReleasedGil released;
    FeatureStream features = FeaturesOf(model, given.ReadAll());
    frames = Pop(&features, features.NumFramesReady());
  }
  return ArrayFrom(std::move(frames), model.feature_dim());
}

// Appends rows of type T.
template <typename T>
void Append(const Matrix& rows, std::vector<T>* values) {
  const auto* first = static_cast<const T*>(rows.rows().data);
  values->insert(values->end(), first, first + rows.count() * rows.dim());
}

// Log probabilities of the CTC head, (encoder frames, vocabulary) of type T.
template <typename T>
py::array LogProbsAs(const std::shared_ptr<Model>& model, const Samples& samples,
                     StreamOptions options) {
  std::vector<T> log_probs;
  {
    const ReleasedGil released;
    const Computation computation;
    options = Stream(model, options).options();  // checks the sizes, resolves the model's defaults
    const ModelParts& parts = model->parts();
    const CtcHead& head = parts.RequireCtcHead();
    FeatureStream features = FeaturesOf(*model, samples.ReadAll());
    SignalWatch signals;
    EncodeChunks(
        parts, options.chunk_size, options.left_context,
        [&features](int64_t max_frames) { return Pop(&features, max_frames); },
        [&](Matrix rows) {
          const Matrix heads_input = parts.HeadsInput(std::move(rows));
          Append(head.LogProbs(heads_input.rows()), &log_probs);
          signals.Look();
        });
  }
  return ArrayFrom(std::move(log_probs), model->tokens().size());
}

py::array LogProbs(const std::shared_ptr<Model>& model, const py::object& samples,
                   const py::object& chunk_size, const py::object& left_context) {
  const Samples values(samples);
  StreamOptions options;
  options.chunk_size = ValueOf<int64_t>("chunk_size", chunk_size);
  options.left_context = ValueOf<int64_t>("left_context", left_context);
  return model->parts().encoder.data_type() == DataType::kFloat64
             ? LogProbsAs<double>(model, values, options)
             : LogProbsAs<float>(model, values, options);
}

py::tuple TokenNames(const Model& model) {
  py::tuple names(static_cast<size_t>(model.tokens().size()));
  for (int32_t id = 0; id < model.tokens().size(); ++id) {
    names[static_cast<size_t>(id)] = model.tokens().name(id);
  }
  return names;
}

}  // namespace

void BindModel(py::module_* module) {
  py::class_<Model, std::shared_ptr<Model>>(*module, "Model",
                                            "A loaded model. Immutable; threads may share it.")
      .def(py::init(&Load), py::arg("path"))
      .def_property_readonly("name", &Model::name, "The name in the model file.")
      .def_property_readonly(
          "streaming", [](const Model& self) { return ToPython(self.streaming()); },
          "Recommended and permitted chunk sizes and left contexts.")
      .def_property_readonly("tokens", &TokenNames, "The tokens by id, as in units.txt.")
      .def_property_readonly(
          "blank_id", [](const Model& self) { return self.tokens().blank_id(); },
          "Index of the blank in tokens.")
      .def_property_readonly(
          "has_word_boundaries",
          [](const Model& self) { return self.tokens().has_word_boundaries(); },
          "Whether texts are joined by spaces.")
      .def_property_readonly("languages", &Model::languages,
                             "What the option language may be; empty without a language prompt.")
      .def_property_readonly("sample_rate_hz", &Model::sample_rate_hz,
                             "Rate of the audio that the model was trained on.")
      .def_property_readonly("feature_dim", &Model::feature_dim, "Width of a feature frame.")
      .def_property_readonly("feature_frame_ms", &Model::feature_frame_ms,
                             "Milliseconds of audio from one feature frame to the next.")
      .def_property_readonly("encoder_frame_ms", &Model::encoder_frame_ms,
                             "Duration of one encoder frame, in milliseconds of audio.")
      .def_property_readonly("fingerprint", &Model::fingerprint,
                             "32 hexadecimal digits, equal for models that compute the same.")
      .def_property_readonly("is_bit_reproducible", &Model::is_bit_reproducible,
                             "True for the CPU backend: results do not depend on batch or packets.")
      .def_property_readonly("compute_description", &Model::ComputeDescription,
                             "Precision, cache and instruction set in one line, for a log.")
      .def("_features", &Features, py::arg("samples"))
      .def("_log_probs", &LogProbs, py::arg("samples"), py::arg("chunk_size"),
           py::arg("left_context"));
}

}  // namespace runnel::python
