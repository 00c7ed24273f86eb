#include "runtime/attention_decoder/transformer_decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "encoder/encoder_weights.h"
#include "runtime/row_math/row_math.h"

namespace runnel {
namespace {

template <class T>
void AddValues(const double* from, int64_t count, T* to) {
  std::transform(to, to + count, from, to,
                 [](T value, double added) { return value + static_cast<T>(added); });
}

}  // namespace

TransformerDecoder::TransformerDecoder(const AttentionDecoderConfig& config,
                                       const TransformerDecoderWeights& weights, int64_t model_dim,
                                       const EncoderBackend& backend)
    : vocab_size_(config.vocab_size),
      type_(backend.data_type()),
      embedding_(Scaled(weights.embedding, std::sqrt(static_cast<double>(model_dim)))),
      sinusoids_(model_dim),
      output_(backend.MakeLinear(weights.output)) {
  for (const DecoderLayerWeights& layer : weights.layers) {
    layers_.emplace_back(config, layer, model_dim, backend);
  }
  if (weights.after_norm) after_norm_ = backend.MakeNorm(*weights.after_norm);
}

Matrix TransformerDecoder::Forward(const DecoderBatch& batch) const {
  Matrix x = Embed(batch.prefixes);
  for (const DecoderLayer& layer : layers_) layer.Forward(batch, x.rows());
  if (after_norm_ != nullptr) after_norm_->Normalize(x.rows());
  return x;
}

Matrix TransformerDecoder::Embed(const PrefixRows& prefixes) const {
  const int64_t dim = embedding_.dim();
  const Matrix positions = sinusoids_.Rows(0, prefixes.num_positions() - 1);
  Matrix x(type_, dim, prefixes.count());
  for (int64_t row = 0; row < prefixes.count(); ++row) {
    embedding_.Copy(prefixes.token(row), x.rows().Part(row, 1).data);
    const double* position = positions.rows().float64(prefixes.position(row));
    if (type_ == DataType::kFloat64) {
      AddValues(position, dim, x.rows().float64(row));
    } else {
      AddValues(position, dim, x.rows().float32(row));
    }
  }
  return x;
}

Matrix TransformerDecoder::LogProbs(ConstRows rows) const {
  Matrix log_probs(type_, vocab_size_, rows.count);
  output_->Forward(rows, log_probs.rows());
  LogSoftmaxColumns(0, vocab_size_, log_probs.rows());
  return log_probs;
}

}  // namespace runnel
