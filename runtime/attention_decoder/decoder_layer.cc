#include "runtime/attention_decoder/decoder_layer.h"

#include <algorithm>
#include <utility>

#include "runtime/attention_decoder/prefix_attention.h"
#include "runtime/row_math/row_math.h"

namespace runnel {
namespace {

// The hidden values of so many rows are in memory at a time.
constexpr int64_t kHiddenRows = 256;

Matrix Apply(const LinearModule& linear, ConstRows x, int64_t output_dim) {
  Matrix y(x.type, output_dim, x.count);
  linear.Forward(x, y.rows());
  return y;
}

ConstRows View(const Matrix& matrix) { return matrix.rows(); }

}  // namespace

DecoderLayer::DecoderLayer(const AttentionDecoderConfig& config, const DecoderLayerWeights& weights,
                           int64_t model_dim, const EncoderBackend& backend)
    : sizes_{model_dim, config.num_heads},
      feed_forward_dim_(config.feed_forward_dim),
      norm_first_(config.norm_first),
      activation_(config.activation),
      norm_self_attention_(backend.MakeNorm(weights.norm_self_attention)),
      self_queries_keys_values_(backend.MakeLinear(weights.self_queries_keys_values)),
      self_out_(backend.MakeLinear(weights.self_out)),
      norm_source_attention_(backend.MakeNorm(weights.norm_source_attention)),
      source_queries_(backend.MakeLinear(weights.source_queries)),
      source_keys_values_(backend.MakeLinear(weights.source_keys_values)),
      source_out_(backend.MakeLinear(weights.source_out)),
      norm_feed_forward_(backend.MakeNorm(weights.norm_feed_forward)),
      w_1_(backend.MakeLinear(weights.feed_forward.w_1)),
      w_2_(backend.MakeLinear(weights.feed_forward.w_2)) {}

void DecoderLayer::Forward(const DecoderBatch& batch, Rows x) const {
  AddModule(
      *norm_self_attention_, [&](ConstRows input) { return AttendToTokens(batch, input); }, x);
  AddModule(
      *norm_source_attention_, [&](ConstRows input) { return AttendToFrames(batch, input); }, x);
  AddModule(
      *norm_feed_forward_, [&](ConstRows input) { return FeedForward(input); }, x);
}

template <class Module>
void DecoderLayer::AddModule(const NormModule& norm, const Module& module, Rows x) const {
  Matrix input{ConstRows(x)};
  if (norm_first_) norm.Normalize(input.rows());
  AddTo(View(module(View(input))), x);
  if (!norm_first_) norm.Normalize(x);
}

Matrix DecoderLayer::AttendToTokens(const DecoderBatch& batch, ConstRows x) const {
  const Matrix queries_keys_values = Apply(*self_queries_keys_values_, x, 3 * sizes_.model_dim);
  Matrix context(x.type, sizes_.model_dim, x.count);
  AttendToPrefixes(batch.prefixes, sizes_, queries_keys_values.rows(), context.rows());
  return Apply(*self_out_, View(context), sizes_.model_dim);
}

Matrix DecoderLayer::AttendToFrames(const DecoderBatch& batch, ConstRows x) const {
  const Matrix queries = Apply(*source_queries_, x, sizes_.model_dim);
  const Matrix keys_values =
      Apply(*source_keys_values_, batch.encoder.rows(), 2 * sizes_.model_dim);
  Matrix context(x.type, sizes_.model_dim, x.count);
  AttendToEncoder(batch, sizes_, queries.rows(), keys_values.rows(), context.rows());
  return Apply(*source_out_, View(context), sizes_.model_dim);
}

Matrix DecoderLayer::FeedForward(ConstRows x) const {
  Matrix y(x.type, sizes_.model_dim, x.count);
  for (int64_t first = 0; first < x.count; first += kHiddenRows) {
    const int64_t count = std::min(kHiddenRows, x.count - first);
    Matrix hidden = Apply(*w_1_, x.Part(first, count), feed_forward_dim_);
    Activate(activation_, hidden.rows());
    w_2_->Forward(View(hidden), y.rows().Part(first, count));
  }
  return y;
}

}  // namespace runnel
