// Learned vectors per clipped distance, added to keys and values (Shaw et al. 2018). Neither of the
// two sums forms a (C, L, d_k) tensor.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <memory>

#include "encoder/json_section.h"
#include "encoder/position/distance_scores.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {
namespace {

constexpr int64_t kMaxDistance = 1 << 20;

struct RelativeKeyValueFields {
  int64_t max_distance = 0;  // k
  bool values = true;        // also a^V
  bool shared = false;       // one table for all layers
};

// score(i, j) = q_i (k_j + a^K_ij) / sqrt(d_k), context_i = sum_j weight_ij (v_j + a^V_ij)
class RelativeKeyValue final : public PositionScheme {
 public:
  // Takes <name>.relative_keys (2k + 1, d_k), and <name>.relative_values if there are any. Row 0 is
  // that of keys k or more frames before the query.
  RelativeKeyValue(Weights* weights, const std::string& name, const AttentionSizes& sizes,
                   const RelativeKeyValueFields& fields)
      : rows_{fields.max_distance, -fields.max_distance} {
    keys_ = weights->Take(name + ".relative_keys", {rows_.size(), sizes.head_dim()});
    if (fields.values) {
      values_ = weights->Take(name + ".relative_values", {rows_.size(), sizes.head_dim()});
    }
  }

  at::Tensor Scores(const AttentionChunk& chunk, const QueryBlock& block) const override {
    const at::Tensor q = chunk.queries.narrow(1, block.first, block.count);
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(2)));
    return at::matmul(q, chunk.keys.transpose(1, 2))
        .add_(DistanceScores(q, keys_, rows_, DistancesOf(chunk, block)))
        .mul_(scale);
  }

  at::Tensor Context(const at::Tensor& weights, const at::Tensor& values,
                     const AttentionChunk& chunk, const QueryBlock& block) const override {
    at::Tensor context = at::matmul(weights, values);
    if (!values_.defined()) return context;
    const Distances used = DistancesOf(chunk, block).ClampedTo(rows_);
    const int64_t first_query = chunk.num_cached() + block.first;  // its key's place
    const at::TensorOptions options = weights.options().dtype(at::kLong);
    const at::Tensor distances =
        at::arange(first_query, first_query + block.count, options).unsqueeze(1) -
        at::arange(chunk.num_keys(), options);
    const at::Tensor slots = used.first - distances.clamp(used.last, used.first);  // (C, L)
    const at::Tensor sums =
        at::zeros({weights.size(0), block.count, used.size()}, weights.options())
            .scatter_add_(2, slots.expand(weights.sizes()), weights);
    return context.add_(at::matmul(sums, values_.narrow(0, rows_.first - used.first, used.size())));
  }

 private:
  Distances rows_;     // of both tables
  at::Tensor keys_;    // a^K (2k + 1, d_k)
  at::Tensor values_;  // a^V, undefined without
};

}  // namespace

PositionConfig ParseRelativeKeyValue(JsonSection* section) {
  RelativeKeyValueFields fields;
  fields.max_distance = section->Integer("max_distance", 0, kMaxDistance);
  fields.values = section->Bool("values");
  fields.shared = section->Bool("shared");
  PositionConfig config;
  if (fields.shared) {
    config.build = [fields](Weights* weights, const std::vector<std::string>& attention_names,
                            const AttentionSizes& sizes) {
      PositionModules modules;
      modules.layers.resize(attention_names.size(), std::make_shared<const RelativeKeyValue>(
                                                        weights, "encoder", sizes, fields));
      return modules;
    };
  } else {
    config.build = ForEachLayer(
        [fields](Weights* weights, const std::string& name, const AttentionSizes& sizes) {
          return std::make_shared<const RelativeKeyValue>(weights, name, sizes, fields);
        });
  }
  return config;
}

}  // namespace runnel
