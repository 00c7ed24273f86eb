// The features and the CTC output of a whole recording.
#ifndef RUNNEL_TOOLS_VERIFICATION_WHOLE_UTTERANCE_H_
#define RUNNEL_TOOLS_VERIFICATION_WHOLE_UTTERANCE_H_

#include <vector>

#include "encoder/rows.h"
#include "runtime/model.h"
#include "runtime/streaming_config.h"

namespace runnel {

// `samples`: mono, at the model's rate. Returns (T, input_dim) float32. Throws
// std::invalid_argument as FeatureStream::AcceptSamples does.
Matrix ComputeFeatures(const Model& model, const std::vector<float>& samples);

// The log probabilities of all encoder frames in one pass under the chunk mask of `setting`:
// (T', vocab_size) float32. Memory grows with the square of T'. Throws as ComputeFeatures and
// ModelParts::RequireCtcHead do.
Matrix ComputeLogProbs(const Model& model, const std::vector<float>& samples,
                       const StreamingSetting& setting);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_WHOLE_UTTERANCE_H_
