// One layer of a Transformer decoder.
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_DECODER_LAYER_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_DECODER_LAYER_H_

#include <cstdint>
#include <memory>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/rows.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/attention_decoder/attention_decoder_weights.h"
#include "runtime/attention_decoder/prefix_rows.h"

namespace runnel {

// Attention to the tokens so far, attention to the encoder frames, feed-forward; a residual
// connection and a norm around each (Vaswani et al. 2017, section 3.1). Immutable.
class DecoderLayer {
 public:
  // `backend` is used during the call only.
  DecoderLayer(const AttentionDecoderConfig& config, const DecoderLayerWeights& weights,
               int64_t model_dim, const EncoderBackend& backend);

  // x: (rows of the batch, model_dim), advanced in place.
  void Forward(const DecoderBatch& batch, Rows x) const;

 private:
  // x = x + module(norm(x)) or, without norm_first, norm(x + module(x)). module: ConstRows ->
  // Matrix
  template <class Module>
  void AddModule(const NormModule& norm, const Module& module, Rows x) const;

  Matrix AttendToTokens(const DecoderBatch& batch, ConstRows x) const;
  Matrix AttendToFrames(const DecoderBatch& batch, ConstRows x) const;
  Matrix FeedForward(ConstRows x) const;

  AttentionSizes sizes_;
  int64_t feed_forward_dim_;
  bool norm_first_;
  Activation activation_;
  std::unique_ptr<const NormModule> norm_self_attention_;
  std::unique_ptr<const LinearModule> self_queries_keys_values_;
  std::unique_ptr<const LinearModule> self_out_;
  std::unique_ptr<const NormModule> norm_source_attention_;
  std::unique_ptr<const LinearModule> source_queries_;
  std::unique_ptr<const LinearModule> source_keys_values_;
  std::unique_ptr<const LinearModule> source_out_;
  std::unique_ptr<const NormModule> norm_feed_forward_;
  std::unique_ptr<const LinearModule> w_1_;
  std::unique_ptr<const LinearModule> w_2_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_DECODER_LAYER_H_
