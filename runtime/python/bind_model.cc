#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
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
#include "runtime/python/class.h"
#include "runtime/python/computation.h"
#include "runtime/python/gil.h"
#include "runtime/python/option_keywords.h"
#include "runtime/python/results.h"
#include "runtime/stream.h"

namespace runnel::python {
namespace {

ModelOptions OptionsFrom(const Keywords& keywords) {
  ModelOptions options;
  ForEachKeyword(ModelOptionTable(), keywords, "ModelOptions",
                 [&](const ModelOption& option, const Object& value) {
                   Set(option, ValueFrom(option, value), &options);
                 });
  return options;
}

std::shared_ptr<Model> Load(const Object& path, const Keywords& keywords) {
  try {
    const ModelOptions options = OptionsFrom(keywords);
    const std::string file = ExistingFile(path);
    const ReleasedGil released;
    const Computation computation;
    return std::const_pointer_cast<Model>(Model::Load(file, options));
  } catch (const OptionError& error) {
    throw std::invalid_argument(error.In(PythonOption));
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

Object Features(const Model& model, const Object& samples) {
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
Object LogProbsAs(const std::shared_ptr<Model>& model, const Samples& samples,
                  StreamOptions options) {
  std::vector<T> log_probs;
  {
    const ReleasedGil released;
    const Computation computation;
    const std::optional<double> longest_s = LongestWholeS(*model, options);
    if (longest_s.has_value() &&
        static_cast<double>(samples.size()) <= *longest_s * model->sample_rate_hz()) {
      options.chunk_size = StreamOptions::kWholeUtterance;
    }
    options = Stream(model, options).options();  // checks the sizes, resolves the model's defaults
    const ModelParts& parts = model->parts();
    const CtcHead& head = parts.RequireCtcHead();
    FeatureStream features = FeaturesOf(*model, samples.ReadAll());
    SignalWatch signals;
    EncodeChunks(
        parts,
        {options.chunk_size, options.left_context, options.right_context, options.cached_windows},
        [&features](int64_t max_frames) { return Pop(&features, max_frames); },
        [&](Matrix rows) {
          const Matrix heads_input = parts.HeadsInput(std::move(rows));
          Append(head.LogProbs(heads_input.rows()), &log_probs);
          signals.Look();
        });
  }
  return ArrayFrom(std::move(log_probs), model->tokens().size());
}

Object LogProbs(const std::shared_ptr<Model>& model, const Object& samples,
                const Object& chunk_size, const Object& left_context, const Object& right_context,
                const Object& cached_windows) {
  const Samples values(samples);
  StreamOptions options;
  options.chunk_size = ValueOf<int64_t>("chunk_size", chunk_size);
  options.left_context = ValueOf<int64_t>("left_context", left_context);
  options.right_context = ValueOf<int64_t>("right_context", right_context);
  options.cached_windows = ValueOf<bool>("cached_windows", cached_windows);
  return model->parts().encoder.data_type() == DataType::kFloat64
             ? LogProbsAs<double>(model, values, options)
             : LogProbsAs<float>(model, values, options);
}

Object TokenNames(const Model& model) {
  std::vector<Object> names;
  for (int32_t id = 0; id < model.tokens().size(); ++id) {
    names.push_back(ToObject(model.tokens().name(id)));
  }
  return TupleOf(names);
}

}  // namespace

void BindModel(PyObject* module) {
  Class<Model>("Model", "A loaded model. Immutable; threads may share it.")
      .Init(kCall<&Load>, {"path"})
      .Property("name", kCall<&Model::name>, "The name in the model file.")
      .Property(
          "streaming", [](const Model& self) { return ToPython(self.streaming()); },
          "Recommended and permitted chunk sizes and left contexts.")
      .Property("tokens", kCall<&TokenNames>, "The tokens by id, as in units.txt.")
      .Property(
          "blank_id", [](const Model& self) { return self.tokens().blank_id(); },
          "Index of the blank in tokens.")
      .Property(
          "has_word_boundaries",
          [](const Model& self) { return self.tokens().has_word_boundaries(); },
          "Whether texts are joined by spaces.")
      .Property("languages", kCall<&Model::languages>,
                "What the option language may be; empty without a language prompt.")
      .Property("sample_rate_hz", kCall<&Model::sample_rate_hz>,
                "Rate of the audio that the model was trained on.")
      .Property("feature_dim", kCall<&Model::feature_dim>, "Width of a feature frame.")
      .Property("feature_frame_ms", kCall<&Model::feature_frame_ms>,
                "Milliseconds of audio from one feature frame to the next.")
      .Property("encoder_frame_ms", kCall<&Model::encoder_frame_ms>,
                "Duration of one encoder frame, in milliseconds of audio.")
      .Property("fingerprint", kCall<&Model::fingerprint>,
                "32 hexadecimal digits, equal for models that compute the same.")
      .Property("is_bit_reproducible", kCall<&Model::is_bit_reproducible>,
                "True for the CPU backend: results do not depend on batch or packets.")
      .Property("compute_description", kCall<&Model::ComputeDescription>,
                "Precision, cache and instruction set in one line, for a log.")
      .Method("_features", kCall<&Features>, {"samples"})
      .Method("_log_probs", kCall<&LogProbs>,
              {"samples", "chunk_size", "left_context", "right_context", "cached_windows"})
      .AddTo(module);
}

}  // namespace runnel::python
