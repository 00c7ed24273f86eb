// Every tensor of the encoder and of the CTC head, by name and shape, bound once for all backends.
// models/README.md lists them. The position schemes bind their own (encoder/position).
#ifndef RUNNEL_ENCODER_ENCODER_WEIGHTS_H_
#define RUNNEL_ENCODER_ENCODER_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"

namespace runnel {

// The names of the tensors of layer n begin with this and n.
constexpr char kEncoderLayers[] = "encoder.encoders.";

// All tensors have the data type of the Weights that they come from. d: model_dim.

// y = x W^T + b. Convolutions whose kernel has one tap are such layers.
struct LinearWeights {
  std::string name;  // of the weight in the model file, or MergedName; of no other matrix
  Tensor weight;     // (output_dim, input_dim)
  Tensor bias;       // (output_dim) or undefined
};

struct LayerNormWeights {
  Tensor weight;  // (dim)
  Tensor bias;    // (dim)
  double epsilon = 0;
};

// x / sqrt(mean of x^2 + epsilon), over the channels (icefall).
struct BasicNormWeights {
  double epsilon = 0;
};

struct AttentionWeights {
  LinearWeights query;
  LinearWeights key;
  LinearWeights value;
  LinearWeights out;
};

struct DepthwiseWeights {
  Tensor taps;  // (kernel_size, dim), oldest frame first
  Tensor bias;  // (dim)
};

struct ConvolutionWeights {
  LinearWeights pointwise_1;   // (2 d, d): values, then gates
  DepthwiseWeights depthwise;  // of d channels, with a batch norm folded in
  std::optional<LayerNormWeights> norm;
  LinearWeights pointwise_2;  // (d, d)
  int64_t stride = 1;         // of the depthwise convolution
};

struct CgmlpWeights {
  LinearWeights projection_1;           // (cgmlp_dim, d): values, then gates
  LayerNormWeights norm;                // of the gates
  DepthwiseWeights depthwise;           // of cgmlp_dim / 2 channels
  std::optional<LinearWeights> linear;  // after the convolution
  LinearWeights projection_2;           // (d, cgmlp_dim / 2)
};

struct BranchMergeWeights {
  // Over the 2 d values of both branches, with the residual connection around it folded in.
  std::optional<DepthwiseWeights> depthwise;
  LinearWeights projection;  // (d, 2 d)
};

struct FeedForwardWeights {
  LinearWeights w_1;                          // (hidden_dim, d)
  LinearWeights w_2;                          // (d, hidden_dim)
  Activation activation = Activation::kRelu;  // between them
  double residual_scale = 1.0;                // factor of the output, before the residual sum
};

// A stage of the subsampling. A depthwise convolution (groups = channels) is followed by a
// pointwise one.
struct SubsamplingStageWeights {
  Tensor weight;  // (channels, input channels / groups, k, k); k, 1 where bins are channels
  Tensor bias;    // (channels)
  int64_t groups = 1;
  std::string matrix_name;  // LinearWeights::name of the convolution over all channels, if any
  Tensor pointwise_weight;  // (channels, channels, 1, 1) or undefined
  Tensor pointwise_bias;    // (channels) or undefined
};

struct SubsamplingWeights {
  std::vector<SubsamplingStageWeights> stages;  // first to last
  LinearWeights out;                            // (d, channels * bins), channels outermost
  Activation activation = Activation::kRelu;    // after each stage
  std::optional<LayerNormWeights> norm;         // where there is no convolution
  std::optional<BasicNormWeights> basic_norm;   // of icefall's kinds
};

// Modules of a reworked Conformer have no norm, and its layers end with a BasicNorm.
struct ConformerLayerWeights {
  std::optional<LayerNormWeights> norm_feed_forward_macaron;
  std::optional<FeedForwardWeights> feed_forward_macaron;
  std::optional<LayerNormWeights> norm_attention;
  AttentionWeights attention;
  std::optional<LayerNormWeights> norm_convolution;
  std::optional<ConvolutionWeights> convolution;
  std::optional<LayerNormWeights> norm_feed_forward;
  FeedForwardWeights feed_forward;
  std::optional<LayerNormWeights> norm_final;  // where there is a convolution
  std::optional<BasicNormWeights> basic_norm;
};

struct BranchformerLayerWeights {
  std::optional<LayerNormWeights> norm_feed_forward_macaron;
  std::optional<FeedForwardWeights> feed_forward_macaron;
  LayerNormWeights norm_attention;
  AttentionWeights attention;
  LayerNormWeights norm_cgmlp;
  CgmlpWeights cgmlp;
  BranchMergeWeights merge;
  std::optional<LayerNormWeights> norm_feed_forward;
  std::optional<FeedForwardWeights> feed_forward;
  LayerNormWeights norm_final;
};

// Global CMVN: a feature x becomes (x - mean) * istd.
struct GlobalCmvnWeights {
  std::vector<float> mean;  // (input_dim)
  std::vector<float> istd;  // (input_dim)
};

// Prefix of the tensors of a layer's attention, and those of all layers, for the position schemes.
std::string AttentionName(int layer);
std::vector<std::string> AttentionNames(const EncoderConfig& config);

// Each takes the tensors that the configuration calls for, and throws as Weights does.
GlobalCmvnWeights BindGlobalCmvn(const EncoderConfig& config, Weights* weights);
SubsamplingWeights BindSubsampling(const EncoderConfig& config, Weights* weights);
// Of kMultitalkerConformer.
FeedForwardWeights BindSpeakerKernel(const EncoderConfig& config, Weights* weights);
ConformerLayerWeights BindConformerLayer(const EncoderConfig& config, int layer, Weights* weights);
BranchformerLayerWeights BindBranchformerLayer(const EncoderConfig& config, int layer,
                                               Weights* weights);
LayerNormWeights BindAfterNorm(const EncoderConfig& config, Weights* weights);
LinearWeights BindCtcHead(int64_t model_dim, int64_t vocab_size, Weights* weights);

// Layers that other networks have too: `name`.weight and `name`.bias.
LinearWeights BindLinear(Weights* weights, const std::string& name, int64_t input_dim,
                         int64_t output_dim, bool bias = true);
LayerNormWeights BindLayerNorm(Weights* weights, const std::string& name, int64_t dim,
                               double epsilon);

// Name of a matrix that several tensors of the model file are merged into, in their order:
// "a.weight+b.weight".
std::string MergedName(const std::vector<std::string>& names);
// The names that MergedName merged.
std::vector<std::string> MergedParts(const std::string& name);
// One layer that computes the outputs of all parts, one after the other. A part without a bias gets
// zeros.
LinearWeights Stacked(const std::vector<LinearWeights>& parts);

// The parts of a layer. `name`: prefix of the module's tensors.
AttentionWeights BindAttention(const EncoderConfig& config, const std::string& name,
                               Weights* weights);
ConvolutionWeights BindConvolution(const EncoderConfig& config, int layer, const std::string& name,
                                   Weights* weights);
FeedForwardWeights BindFeedForward(const EncoderConfig& config, const std::string& name,
                                   Weights* weights);

// Each value times `scale`, rounded to the tensor's type, float32 or float64. The tensor itself
// where it is undefined, or the scale 1.
Tensor Scaled(const Tensor& tensor, double scale);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_WEIGHTS_H_
