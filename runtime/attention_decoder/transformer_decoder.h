// A Transformer decoder of one direction.
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_TRANSFORMER_DECODER_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_TRANSFORMER_DECODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/backend.h"
#include "encoder/position/sinusoids.h"
#include "encoder/rows.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/attention_decoder/attention_decoder_weights.h"
#include "runtime/attention_decoder/decoder_layer.h"
#include "runtime/attention_decoder/prefix_rows.h"
#include "runtime/row_math/embedding.h"

namespace runnel {

// Embedding times sqrt(d) plus sinusoids of the token's position, layers, norm, output layer
// (Vaswani et al. 2017, section 3). Immutable: both methods may run in several threads at once. A
// row has the same bits on the CPU backend whatever else is in the batch.
class TransformerDecoder {
 public:
  // `backend` is used during the call only.
  TransformerDecoder(const AttentionDecoderConfig& config, const TransformerDecoderWeights& weights,
                     int64_t model_dim, const EncoderBackend& backend);

  // The rows that the output layer reads: (rows of the batch, model_dim).
  Matrix Forward(const DecoderBatch& batch) const;

  // Rows of Forward's result -> (rows, vocab_size) natural logarithms of the probabilities of the
  // token after each row's.
  Matrix LogProbs(ConstRows rows) const;

 private:
  Matrix Embed(const PrefixRows& prefixes) const;

  int64_t vocab_size_;
  DataType type_;
  Embedding embedding_;  // times sqrt(d)
  Sinusoids sinusoids_;
  std::vector<DecoderLayer> layers_;
  std::unique_ptr<const NormModule> after_norm_;  // null: none
  std::unique_ptr<const LinearModule> output_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_TRANSFORMER_DECODER_H_
