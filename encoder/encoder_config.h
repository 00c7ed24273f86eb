// The encoder's architecture, as the `encoder` section of the model file states it.
#ifndef RUNNEL_ENCODER_ENCODER_CONFIG_H_
#define RUNNEL_ENCODER_ENCODER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/activation.h"
#include "encoder/position_config.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

class JsonSection;

enum class EncoderType {
  kConformer,  // or a Transformer
  // NeMo's, for several speakers: a speaker kernel, which is a feed-forward module, comes before
  // layer 0.
  kMultitalkerConformer,
  // icefall's: modules have no norms. BasicNorm ends each layer. Feed-forward modules are added
  // whole.
  kReworkedConformer,
  kEfficientConformer,  // some layers have a stride, and attend in groups of frames
  kBranchformer,        // or an E-Branchformer
};

// How feature frames are normalised before the subsampling.
enum class Normalization {
  kNone,
  kGlobalCmvn,  // (x - mean) * istd, by the tensors encoder.global_cmvn.{mean,istd}
  kUtterance,   // by mean and deviation of each bin over the whole utterance
  kRunning,     // by mean and deviation over the stream up to the chunk's last frame
};

// The divisor of x - mean, with kUtterance and kRunning. s: the deviation over the N frames. e:
// normalization_epsilon.
enum class FeatureDeviation {
  kUnbiased,  // s + e, s with N - 1 (NeMo's per_feature)
  kBiased,    // max(s, e), s with N (ESPnet's utterance_mvn with norm_vars)
  kNone,      // 1 (ESPnet's utterance_mvn)
};

enum class ConvolutionType {
  kCausal,        // frame t reads t-K+1 .. t
  kSymmetric,     // reads t-(K-1)/2 .. t+K/2, in any chunk: the whole utterance is needed
  kDynamicChunk,  // reads the same frames, but those after the chunk's end count as zero
};

// The number of frames before t that a convolution over K frames reads for frame t. The others of
// the K - 1 are after t.
inline int64_t LeftFrames(ConvolutionType type, int64_t kernel_size) {
  return type == ConvolutionType::kCausal ? kernel_size - 1 : (kernel_size - 1) / 2;
}

enum class ConvolutionNorm { kNone, kLayerNorm, kBatchNorm };

struct ConvolutionConfig {
  ConvolutionType type = ConvolutionType::kCausal;
  int kernel_size = 0;  // K, encoder frames
  ConvolutionNorm norm = ConvolutionNorm::kLayerNorm;
  double norm_epsilon = 1e-5;  // unless the norm is kNone
  Activation activation = Activation::kSwish;
  bool bias = true;  // of the three convolutions alike
  // Frames before the stream are zero before the first pointwise convolution (WeNet), and so become
  // the gate of its bias. Otherwise they are zero after the gate.
  bool gated_padding = false;
};

// The two branches of a Branchformer layer, attention and cgMLP, and their merging (Peng et al.
// 2022, Kim et al. 2022).
struct BranchesConfig {
  // Of both convolutions. Frames before the stream are zero: for the cgMLP, a causal convolution
  // has them before its norm (WeNet), the others after it.
  ConvolutionType type = ConvolutionType::kCausal;
  int cgmlp_dim = 0;          // channels of the cgMLP before their halves are multiplied; even
  int cgmlp_kernel_size = 0;  // encoder frames
  bool linear_after_convolution = false;
  Activation gate_activation = Activation::kIdentity;
  // Of the convolution over both branches before their projection (E-Branchformer), encoder frames;
  // 0: none (Branchformer).
  int merge_kernel_size = 0;

  int64_t gate_dim() const { return cgmlp_dim / 2; }
};

struct FeedForwardConfig {
  int hidden_dim = 0;      // 0: no feed-forward module (Branchformer only)
  bool macaron = true;     // two modules per layer instead of one
  bool half_steps = true;  // with macaron: their outputs are halved
  Activation activation = Activation::kSwish;
  bool bias = true;

  // Factor of a module's output, before the residual sum.
  double residual_scale() const { return macaron && half_steps ? 0.5 : 1.0; }
};

// The linear layers of attention that have a bias.
struct AttentionBias {
  bool query = true;
  bool key = true;
  bool value = true;
  bool out = true;
};

struct AttentionSizes {
  int64_t model_dim;  // d
  int64_t num_heads;  // H, divides model_dim

  int64_t head_dim() const { return model_dim / num_heads; }  // d_k
};

struct EncoderConfig {
  EncoderType type = EncoderType::kConformer;
  int input_dim = 0;  // feature bins per frame
  int model_dim = 0;  // d
  int num_layers = 0;
  int num_heads = 0;  // divides model_dim
  Normalization normalization = Normalization::kGlobalCmvn;
  FeatureDeviation deviation = FeatureDeviation::kUnbiased;  // kUtterance, kRunning
  double normalization_epsilon = 1e-5;                       // of the deviation, unless kNone
  SubsamplingConfig subsampling;
  bool scale_input = true;  // multiplies the subsampled input by sqrt(model_dim)
  PositionConfig position;
  AttentionBias attention_bias;
  FeedForwardConfig feed_forward;
  std::optional<ConvolutionConfig> convolution = ConvolutionConfig();  // none: a Transformer
  std::optional<BranchesConfig> branches;  // of kBranchformer, which has no `convolution`
  // Of kEfficientConformer: each layer's stride, that of its depthwise convolution. Empty: all 1.
  std::vector<int64_t> strides;
  bool strides_divide_kernels = false;  // a stride divides the kernel size of all later layers
  // Not of kReworkedConformer.
  bool norm_first = true;  // x + f(norm(x)); otherwise norm(x + f(x))
  bool after_norm = true;  // a norm after the last layer
  double layer_norm_eps = 1e-5;

  int head_dim() const { return model_dim / num_heads; }  // d_k
  AttentionSizes attention_sizes() const { return {model_dim, num_heads}; }

  // Of one layer.
  int64_t stride(int layer) const;
  int64_t kernel_size(int layer) const;  // of its convolution
  int64_t group_size(int layer) const;   // frames that attend as one
  // The frames of this layer's input per encoder frame, which has the rate of the last layer.
  int64_t frames_per_encoder_frame(int layer) const;

  // The sizes of chunks and left context, in encoder frames, are multiples of this number, so that
  // no group of frames is cut.
  int64_t ChunkMultiple() const;

  // From feature frames to encoder frames, with the strides of the layers.
  SubsamplingGeometry Geometry() const { return SubsamplingGeometry(subsampling, strides); }

  // The type of the layers' convolutions; nullptr in a Transformer.
  const ConvolutionType* convolution_type() const;

  // The reason why this model cannot stream, for messages; nullptr when it can.
  const char* NeedsWholeUtterance() const;
  // The reason why a window cannot be computed from what earlier windows cached of its left
  // context, for messages; nullptr when it can.
  const char* NeedsWholeWindows() const;
};

// Throws std::runtime_error naming the field, its value and what was expected.
EncoderConfig ParseEncoderConfig(JsonSection* section);

// Fields that other networks have too; they throw likewise. `activation` is one of those of
// feed-forward modules.
Activation ParseActivation(JsonSection* section);
double ParseEpsilon(JsonSection* section, const std::string& field);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_CONFIG_H_
