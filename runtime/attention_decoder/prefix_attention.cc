#include "runtime/attention_decoder/prefix_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encoder/cpu/kernels/attention/attention_kernel.h"

namespace runnel {
namespace {

// Rows that read the same keys and values. All rows hold all heads side by side.
template <class T>
struct Attended {
  const T* queries;  // row i at queries + i * query_stride
  int64_t query_stride;
  int64_t num_queries;
  std::vector<const T*> keys;    // pointers to rows
  std::vector<const T*> values;  // likewise
  T* context;                    // (num_queries, d), contiguous
};

void Attend(const Attended<float>& rows, const AttentionSizes& sizes) {
  kernels::AttentionRows attention;
  attention.queries = rows.queries;
  attention.query_stride = rows.query_stride;
  attention.num_queries = rows.num_queries;
  attention.keys = rows.keys.data();
  attention.values = rows.values.data();
  attention.num_keys = static_cast<int64_t>(rows.keys.size());
  attention.context = rows.context;
  kernels::AttentionHeads heads;
  heads.num_heads = sizes.num_heads;
  heads.head_dim = sizes.head_dim();
  heads.score_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.head_dim())));
  kernels::Attend(attention, heads);
}

void Attend(const Attended<double>& rows, const AttentionSizes& sizes) {
  const int64_t head_dim = sizes.head_dim();
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  std::vector<double> weights(rows.keys.size());
  for (int64_t i = 0; i < rows.num_queries; ++i) {
    for (int64_t offset = 0; offset < sizes.model_dim; offset += head_dim) {
      const double* query = rows.queries + i * rows.query_stride + offset;
      double* context = rows.context + i * sizes.model_dim + offset;
      for (size_t j = 0; j < weights.size(); ++j) {
        double product = 0;
        for (int64_t k = 0; k < head_dim; ++k) product += query[k] * rows.keys[j][offset + k];
        weights[j] = product * scale;
      }
      const double high = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - high);
      std::fill(context, context + head_dim, 0.0);
      for (size_t j = 0; j < weights.size(); ++j) {
        const double weight = weights[j] / sum;
        for (int64_t k = 0; k < head_dim; ++k) context[k] += weight * rows.values[j][offset + k];
      }
    }
  }
}

template <class T>
const T* RowAt(ConstRows rows, int64_t row) {
  return static_cast<const T*>(rows.data) + row * rows.dim;
}

template <class T>
T* RowAt(Rows rows, int64_t row) {
  return static_cast<T*>(rows.data) + row * rows.dim;
}

template <class T>
void AttendToPrefixesIn(const PrefixRows& prefixes, const AttentionSizes& sizes,
                        ConstRows queries_keys_values, Rows context) {
  std::vector<int64_t> path;
  Attended<T> rows;
  rows.query_stride = queries_keys_values.dim;
  rows.num_queries = 1;
  for (int64_t row = 0; row < prefixes.count(); ++row) {
    prefixes.PathTo(row, &path);
    rows.queries = RowAt<T>(queries_keys_values, row);
    rows.keys.clear();
    rows.values.clear();
    for (const int64_t before : path) {
      rows.keys.push_back(RowAt<T>(queries_keys_values, before) + sizes.model_dim);
      rows.values.push_back(rows.keys.back() + sizes.model_dim);
    }
    rows.context = RowAt<T>(context, row);
    Attend(rows, sizes);
  }
}

template <class T>
void AttendToEncoderIn(const DecoderBatch& batch, const AttentionSizes& sizes, ConstRows queries,
                       ConstRows keys_values, Rows context) {
  for (size_t u = 0; u < batch.encoder_frames.size(); ++u) {
    const RowRange& of_prefixes = batch.prefixes.utterances()[u];
    const RowRange& frames = batch.encoder_frames[u];
    Attended<T> rows;
    rows.queries = RowAt<T>(queries, of_prefixes.first);
    rows.query_stride = queries.dim;
    rows.num_queries = of_prefixes.count;
    for (int64_t i = 0; i < frames.count; ++i) {
      rows.keys.push_back(RowAt<T>(keys_values, frames.first + i));
      rows.values.push_back(rows.keys.back() + sizes.model_dim);
    }
    rows.context = RowAt<T>(context, of_prefixes.first);
    Attend(rows, sizes);
  }
}

}  // namespace

void AttendToPrefixes(const PrefixRows& prefixes, const AttentionSizes& sizes,
                      ConstRows queries_keys_values, Rows context) {
  if (context.type == DataType::kFloat64) {
    AttendToPrefixesIn<double>(prefixes, sizes, queries_keys_values, context);
  } else {
    AttendToPrefixesIn<float>(prefixes, sizes, queries_keys_values, context);
  }
}

void AttendToEncoder(const DecoderBatch& batch, const AttentionSizes& sizes, ConstRows queries,
                     ConstRows keys_values, Rows context) {
  if (context.type == DataType::kFloat64) {
    AttendToEncoderIn<double>(batch, sizes, queries, keys_values, context);
  } else {
    AttendToEncoderIn<float>(batch, sizes, queries, keys_values, context);
  }
}

}  // namespace runnel
