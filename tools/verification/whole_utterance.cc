#include "tools/verification/whole_utterance.h"

#include <cstddef>
#include <cstdint>

#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "runtime/model/model_parts.h"

namespace runnel {

Matrix ComputeFeatures(const Model& model, const std::vector<float>& samples) {
  FeatureStream stream(model.parts().frame_extractor, model.parts().config.features.sample_scale);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  const int64_t num_frames = stream.NumFramesReady();
  Matrix features(DataType::kFloat32, stream.dim(), num_frames);
  stream.PopFrames(static_cast<size_t>(num_frames), features.rows().float32());
  return features;
}

Matrix ComputeLogProbs(const Model& model, const std::vector<float>& samples,
                       const StreamingSetting& setting) {
  const Matrix features = ComputeFeatures(model, samples);
  const Matrix heads_input = model.parts().HeadsInput(model.parts().encoder.ForwardUnderMask(
      features.rows().float32(), features.count(), setting.chunk_size, setting.left_context));
  if (heads_input.count() == 0) {
    return Matrix(DataType::kFloat32, model.parts().config.vocabulary.vocab_size);
  }
  return ToFloat32(model.parts().RequireCtcHead().LogProbs(heads_input.rows()));
}

}  // namespace runnel
