// Attention with one query per lane against the formula, pair by pair.
#include "encoder/cpu/kernels/attention_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/random_values.h"
#include "tests/support/tolerances.h"
#include "tests/support/worst_of.h"

namespace runnel::kernels {
namespace {

constexpr uint64_t kSeed = 11;

enum class Positions { kNone, kByDistance, kByClampedDistance, kByKey };

// A chunk of C queries over M cached keys and its own.
struct Chunk {
  Chunk(int64_t num_queries, int64_t num_cached, int64_t num_heads, int64_t head_dim,
        Positions positions)
      : dim(num_heads * head_dim),
        queries(runnel::testing::RandomValues(num_queries * dim, kSeed)),
        keys(runnel::testing::RandomValues((num_cached + num_queries) * dim, kSeed + 1)),
        values(runnel::testing::RandomValues((num_cached + num_queries) * dim, kSeed + 2)),
        table(runnel::testing::RandomValues(
            std::max<int64_t>(5, 2 * (num_cached + num_queries)) * dim, kSeed + 3)),
        content_bias(runnel::testing::RandomValues(dim, kSeed + 4)),
        position_bias(runnel::testing::RandomValues(dim, kSeed + 5)),
        context(static_cast<size_t>(num_queries * dim)) {
    const int64_t num_keys = num_cached + num_queries;
    for (int64_t i = 0; i < num_keys; ++i) {
      key_rows.push_back(keys.data() + i * dim);
      value_rows.push_back(values.data() + i * dim);
      position_rows.push_back(table.data() + i * dim);
    }
    rows.queries = queries.data();
    rows.query_stride = dim;
    rows.num_queries = num_queries;
    rows.keys = key_rows.data();
    rows.values = value_rows.data();
    rows.num_keys = num_keys;
    rows.first_query = num_cached;
    rows.context = context.data();
    if (positions == Positions::kByKey) rows.key_positions = position_rows.data();
    if (positions == Positions::kByDistance) {
      rows.by_distance = {table.data(), 2 * num_keys - 1, num_keys - 1};
    }
    if (positions == Positions::kByClampedDistance) rows.by_distance = {table.data(), 5, 2};
    heads.num_heads = num_heads;
    heads.head_dim = head_dim;
    heads.content_bias = content_bias.data();
    heads.position_bias = position_bias.data();
    heads.query_scale = 0.7f;
    heads.score_scale = 0.4f;
  }

  const float* PositionOf(int64_t query, int64_t key) const {
    if (rows.key_positions != nullptr) return rows.key_positions[key];
    if (rows.by_distance.num_rows == 0) return nullptr;
    const int64_t distance = rows.first_query + query - key;
    const int64_t row =
        std::clamp<int64_t>(rows.by_distance.first - distance, 0, rows.by_distance.num_rows - 1);
    return rows.by_distance.rows + row * dim;
  }

  double Score(int64_t query, int64_t key, int64_t head) const {
    const float* position = PositionOf(query, key);
    double sum = 0;
    for (int64_t k = head * heads.head_dim; k < (head + 1) * heads.head_dim; ++k) {
      const double q = rows.queries[query * dim + k] * static_cast<double>(heads.query_scale);
      sum += (q + heads.content_bias[k]) * rows.keys[key][k];
      if (position != nullptr) sum += (q + heads.position_bias[k]) * position[k];
    }
    return sum * heads.score_scale;
  }

  // Of one query and head: (head_dim).
  std::vector<double> Expected(int64_t query, int64_t head) const {
    std::vector<double> sums(static_cast<size_t>(heads.head_dim));
    double total = 0, high = -1e300;
    for (int64_t key = 0; key < rows.num_keys; ++key) {
      high = std::max(high, Score(query, key, head));
    }
    for (int64_t key = 0; key < rows.num_keys; ++key) {
      const double weight = std::exp(Score(query, key, head) - high);
      total += weight;
      for (int64_t k = 0; k < heads.head_dim; ++k) {
        sums[static_cast<size_t>(k)] += weight * rows.values[key][head * heads.head_dim + k];
      }
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  int64_t dim;
  std::vector<float> queries, keys, values, table, content_bias, position_bias, context;
  std::vector<const float*> key_rows, value_rows, position_rows;
  AttentionRows rows;
  AttentionHeads heads;
};

TEST(AttentionKernelTest, IsTheFormula) {
  for (const Positions positions : {Positions::kNone, Positions::kByDistance,
                                    Positions::kByClampedDistance, Positions::kByKey}) {
    for (const int64_t head_dim : {6, 16, 24}) {
      for (const int64_t num_queries : {1, 4, 16, 17, 40}) {
        for (const int64_t num_cached : {0, 3, 64}) {
          Chunk chunk(num_queries, num_cached, 3, head_dim, positions);
          Attend(chunk.rows, chunk.heads);
          double worst = 0;
          for (int64_t i = 0; i < num_queries; ++i) {
            for (int64_t head = 0; head < 3; ++head) {
              const std::vector<double> expected = chunk.Expected(i, head);
              for (int64_t k = 0; k < head_dim; ++k) {
                const auto place = static_cast<size_t>(i * chunk.dim + head * head_dim + k);
                worst = runnel::testing::WorstOf(
                    worst, std::abs(expected[static_cast<size_t>(k)] - chunk.context[place]));
              }
            }
          }
          EXPECT_LE(worst, runnel::testing::kAttentionKernelTolerance)
              << num_queries << " queries, " << num_cached << " cached";
        }
      }
    }
  }
}

TEST(AttentionKernelTest, AQueryDoesNotDependOnTheOthers) {
  Chunk all(37, 20, 2, 16, Positions::kByDistance);
  Attend(all.rows, all.heads);
  for (const int64_t first : {0, 5, 16, 31}) {
    Chunk some(37, 20, 2, 16, Positions::kByDistance);
    some.rows.queries += first * some.dim;
    some.rows.num_queries = std::min<int64_t>(6, 37 - first);
    some.rows.first_query += first;
    Attend(some.rows, some.heads);
    EXPECT_EQ(std::memcmp(some.context.data(), all.context.data() + first * all.dim,
                          static_cast<size_t>(some.rows.num_queries * some.dim) * sizeof(float)),
              0)
        << "from query " << first;
  }
}

}  // namespace
}  // namespace runnel::kernels
