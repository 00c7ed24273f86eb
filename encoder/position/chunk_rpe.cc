// Relative positions with the true shift, for whole utterances (Dai et al. 2019, section 3.3 and
// appendix B) and for chunks with cached left context ("ChunkRPE"), and their variant with a
// bounded radius, in which all distances beyond it read the row at its edge.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "encoder/json_section.h"
#include "encoder/position/distance_scores.h"
#include "encoder/position/position_scheme.h"
#include "encoder/position/position_table.h"
#include "encoder/position/relative_query.h"

namespace runnel {
namespace {

constexpr int64_t kMaxRadius = 1 << 20;

struct ChunkRpeFields {
  RelativeQueryFields query;
  TableOrder order = TableOrder::kDescending;
  // Distances are clamped to -max_distance .. max_distance.
  int64_t max_distance = std::numeric_limits<int64_t>::max();
};

// score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(distance(i, j))) / sqrt(d_k)
class ChunkRpe final : public PositionScheme {
 public:
  ChunkRpe(Weights* weights, const std::string& name, const AttentionSizes& sizes,
           const ChunkRpeFields& fields)
      : num_heads_(sizes.num_heads),
        bound_{fields.max_distance, -fields.max_distance},
        query_(weights, name, sizes, fields.query),
        positions_(TakeLinearPos(weights, name, sizes, fields.query), sizes.model_dim,
                   fields.order) {}

  // (H, distances, d_k)
  at::Tensor Table(const AttentionChunk& chunk) const override {
    const Distances rows = DistancesOf(chunk).ClampedTo(bound_);
    return SplitHeads(positions_.Rows(rows.first, rows.last), num_heads_);
  }

  at::Tensor Scores(const AttentionChunk& chunk, const QueryBlock& block) const override {
    const at::Tensor q = chunk.queries.narrow(1, block.first, block.count);
    at::Tensor scores = at::matmul(query_.ForContent(q), chunk.keys.transpose(1, 2));
    scores.add_(DistanceScores(query_.ForPosition(q), chunk.table,
                               DistancesOf(chunk).ClampedTo(bound_), DistancesOf(chunk, block)));
    return query_.Scaled(scores);
  }

  std::optional<ScoreTerms> score_terms() const override {
    ScoreTerms terms = query_.terms();
    terms.distance_rows = [this](int64_t first, int64_t last) {
      return positions_.Rows(first, last);
    };
    terms.max_distance = bound_.first;
    return terms;
  }

 private:
  int64_t num_heads_;
  Distances bound_;
  RelativeQuery query_;
  PositionTable positions_;
};

PositionConfig Parse(JsonSection* section, ChunkRpeFields fields) {
  fields.query = ParseRelativeQueryFields(section);
  const std::string order = section->String("table_order");
  if (order != "descending" && order != "ascending") {
    section->Fail("table_order", "\"descending\" or \"ascending\"");
  }
  fields.order = order == "descending" ? TableOrder::kDescending : TableOrder::kAscending;
  PositionConfig config;
  config.build = ForEachLayer(
      [fields](Weights* weights, const std::string& name, const AttentionSizes& sizes) {
        return std::make_shared<const ChunkRpe>(weights, name, sizes, fields);
      });
  return config;
}

}  // namespace

PositionConfig ParseChunkRpe(JsonSection* section) { return Parse(section, {}); }

PositionConfig ParseBoundedRpe(JsonSection* section) {
  ChunkRpeFields fields;
  fields.max_distance = section->Integer("radius", 1, kMaxRadius) - 1;
  return Parse(section, fields);
}

}  // namespace runnel
