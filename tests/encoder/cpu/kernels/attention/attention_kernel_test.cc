// Attention of a chunk against the formula in float64, pair by pair, for every kind of position.
#include "encoder/cpu/kernels/attention/attention_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/random_values.h"
#include "tests/support/tolerances.h"
#include "tests/support/worst_of.h"

namespace runnel::kernels {
namespace {

constexpr uint64_t kSeed = 11;

enum class Positions {
  kNone,
  kByDistance,
  kByClampedDistance,
  kByPastDistance,  // the table ends before the chunk's distances begin
  kByKey,
  kLearned,
  kLegacy
};
constexpr Positions kAllPositions[] = {
    Positions::kNone,           Positions::kByDistance, Positions::kByClampedDistance,
    Positions::kByPastDistance, Positions::kByKey,      Positions::kLearned,
    Positions::kLegacy};

// A chunk of C queries over M cached keys and its own. Values that must not be read, or must not
// matter, are NaN.
struct Chunk {
  Chunk(int64_t num_queries, int64_t num_cached, int64_t num_heads, int64_t head_dim,
        Positions positions_)
      : positions(positions_),
        dim(num_heads * head_dim),
        queries(runnel::testing::RandomValues(num_queries * dim, kSeed)),
        keys(runnel::testing::RandomValues((num_cached + num_queries) * dim, kSeed + 1)),
        values(runnel::testing::RandomValues((num_cached + num_queries) * dim, kSeed + 2)),
        key_biases(
            runnel::testing::RandomValues((num_cached + num_queries) * num_heads, kSeed + 6)),
        content_bias(runnel::testing::RandomValues(dim, kSeed + 4)),
        position_bias(runnel::testing::RandomValues(dim, kSeed + 5)),
        context(static_cast<size_t>(num_queries * dim)) {
    const int64_t num_keys = num_cached + num_queries;
    for (int64_t i = 0; i < num_keys; ++i) {
      key_rows.push_back(keys.data() + i * dim);
      value_rows.push_back(values.data() + i * dim);
      bias_rows.push_back(key_biases.data() + i * num_heads);
    }
    rows.queries = queries.data();
    rows.query_stride = dim;
    rows.num_queries = num_queries;
    rows.keys = key_rows.data();
    rows.values = value_rows.data();
    rows.num_keys = num_keys;
    rows.first_query = num_cached;
    rows.context = context.data();
    heads.num_heads = num_heads;
    heads.head_dim = head_dim;
    heads.content_bias = content_bias.data();
    heads.position_bias = position_bias.data();
    heads.query_scale = 0.7f;
    heads.score_scale = 0.4f;
    switch (positions) {
      case Positions::kNone:
        break;
      case Positions::kByDistance:
        MakeTable(2 * num_keys - 1, num_keys - 1, dim);
        break;
      case Positions::kByClampedDistance:
        MakeTable(5, 2, dim);
        break;
      case Positions::kByPastDistance:
        MakeTable(3, num_keys + 10, dim);
        break;
      case Positions::kByKey:
        rows.key_biases = bias_rows.data();
        break;
      case Positions::kLearned:
        MakeTable(7, 3, head_dim);
        learned_values = runnel::testing::RandomValues(7 * head_dim, kSeed + 7);
        rows.values_by_distance = {learned_values.data(), 7, 3};
        break;
      case Positions::kLegacy:
        MakeTable(num_keys, 0, dim);
        rows.by_distance.shift = Shift::kLegacy;
        break;
    }
  }

  void MakeTable(int64_t num_distances, int64_t first, int64_t num_rows) {
    const int64_t stride = num_distances + kColumnPadding;
    columns.assign(static_cast<size_t>(num_rows * stride), std::numeric_limits<float>::quiet_NaN());
    const std::vector<float> random =
        runnel::testing::RandomValues(num_rows * num_distances, kSeed + 3);
    for (int64_t r = 0; r < num_rows; ++r) {
      std::copy(random.data() + r * num_distances, random.data() + (r + 1) * num_distances,
                columns.data() + r * stride);
    }
    rows.by_distance = {
        columns.data(),  stride, num_distances, first, num_rows == dim ? heads.head_dim : 0,
        Shift::kRelative};
  }

  // (s q + v) . column, of one head.
  double DistanceScore(int64_t query, int64_t column, int64_t head) const {
    const DistanceTable& table = rows.by_distance;
    double sum = 0;
    for (int64_t k = 0; k < heads.head_dim; ++k) {
      const int64_t n = head * heads.head_dim + k;
      const double q = rows.queries[query * dim + n] * static_cast<double>(heads.query_scale);
      sum += (q + heads.position_bias[n]) *
             table.columns[(head * table.head_rows + k) * table.stride + column];
    }
    return sum;
  }

  double PositionScore(int64_t query, int64_t key, int64_t head) const {
    if (positions == Positions::kByKey) return rows.key_biases[key][head];
    if (rows.by_distance.num_distances == 0) return 0;
    if (positions == Positions::kLegacy) {
      if (key == query + 1) return 0;
      return key <= query ? DistanceScore(query, rows.num_keys - 1 - query + key, head)
                          : DistanceScore(query + 1, key - query - 2, head);
    }
    return DistanceScore(query, ColumnOf(query, key), head);
  }

  int64_t ColumnOf(int64_t query, int64_t key) const {
    const int64_t distance = rows.first_query + query - key;
    return std::clamp<int64_t>(rows.by_distance.first - distance, 0,
                               rows.by_distance.num_distances - 1);
  }

  double Score(int64_t query, int64_t key, int64_t head) const {
    double sum = PositionScore(query, key, head);
    for (int64_t k = head * heads.head_dim; k < (head + 1) * heads.head_dim; ++k) {
      const double q = rows.queries[query * dim + k] * static_cast<double>(heads.query_scale);
      sum += (q + heads.content_bias[k]) * rows.keys[key][k];
    }
    return sum * heads.score_scale;
  }

  double Value(int64_t query, int64_t key, int64_t head, int64_t k) const {
    const double value = rows.values[key][head * heads.head_dim + k];
    if (learned_values.empty()) return value;
    return value + learned_values[static_cast<size_t>(ColumnOf(query, key) * heads.head_dim + k)];
  }

  // Of one query and head: (head_dim).
  std::vector<double> Expected(int64_t query, int64_t head) const {
    std::vector<double> scores, sums(static_cast<size_t>(heads.head_dim));
    for (int64_t key = 0; key < rows.num_keys; ++key) scores.push_back(Score(query, key, head));
    const double high = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (int64_t key = 0; key < rows.num_keys; ++key) {
      const double weight = std::exp(scores[static_cast<size_t>(key)] - high);
      total += weight;
      for (int64_t k = 0; k < heads.head_dim; ++k) {
        sums[static_cast<size_t>(k)] += weight * Value(query, key, head, k);
      }
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  // The queries from `first` on, `count` of them.
  void Narrow(int64_t first, int64_t count) {
    rows.queries += first * dim;
    rows.num_queries = count;
    rows.first_query += first;
  }

  // The keys from `first` on, `count` of them.
  void NarrowKeys(int64_t first, int64_t count) {
    rows.keys += first;
    rows.values += first;
    if (rows.key_biases != nullptr) rows.key_biases += first;
    rows.num_keys = count;
    rows.first_query -= first;
  }

  Positions positions;
  int64_t dim;
  std::vector<float> queries, keys, values, key_biases, content_bias, position_bias, context;
  std::vector<float> columns, learned_values;
  std::vector<const float*> key_rows, value_rows, bias_rows;
  AttentionRows rows;
  AttentionHeads heads;
};

double WorstError(const Chunk& chunk) {
  double worst = 0;
  for (int64_t i = 0; i < chunk.rows.num_queries; ++i) {
    for (int64_t head = 0; head < chunk.heads.num_heads; ++head) {
      const std::vector<double> expected = chunk.Expected(i, head);
      for (int64_t k = 0; k < chunk.heads.head_dim; ++k) {
        const auto place = static_cast<size_t>(i * chunk.dim + head * chunk.heads.head_dim + k);
        worst = runnel::testing::WorstOf(
            worst, std::abs(expected[static_cast<size_t>(k)] - chunk.context[place]));
      }
    }
  }
  return worst;
}

TEST(AttentionKernelTest, IsTheFormula) {
  for (const Positions positions : kAllPositions) {
    for (const int64_t head_dim : {6, 16, 36}) {
      for (const int64_t num_queries : {1, 2, 7, 16, 40}) {
        for (const int64_t num_cached : {0, 3, 64}) {
          if (positions == Positions::kLegacy && num_cached > 0) continue;
          Chunk chunk(num_queries, num_cached, 3, head_dim, positions);
          Attend(chunk.rows, chunk.heads);
          EXPECT_LE(WorstError(chunk), runnel::testing::kAttentionKernelTolerance)
              << "positions " << static_cast<int>(positions) << ", head_dim " << head_dim << ", "
              << num_queries << " queries, " << num_cached << " cached";
        }
      }
    }
  }
}

TEST(AttentionKernelTest, EveryNumberOfQueriesAndKeys) {
  for (int64_t num_queries = 1; num_queries <= 27; ++num_queries) {
    for (const int64_t num_cached : {0, 1, 5, 14, 150}) {
      Chunk chunk(num_queries, num_cached, 2, 20, Positions::kByDistance);
      Attend(chunk.rows, chunk.heads);
      EXPECT_LE(WorstError(chunk), runnel::testing::kAttentionKernelTolerance)
          << num_queries << " queries, " << num_cached << " cached";
    }
  }
}

TEST(AttentionKernelTest, AQueryDoesNotDependOnTheOthers) {
  for (const Positions positions : kAllPositions) {
    if (positions == Positions::kLegacy) continue;  // a query reads the next one
    Chunk all(37, 20, 2, 20, positions);
    Attend(all.rows, all.heads);
    for (const int64_t first : {0, 5, 16, 31}) {
      for (const int64_t count : {1, 2, 6}) {
        Chunk some(37, 20, 2, 20, positions);
        some.Narrow(first, count);
        Attend(some.rows, some.heads);
        EXPECT_EQ(std::memcmp(some.context.data(), all.context.data() + first * all.dim,
                              static_cast<size_t>(count * some.dim) * sizeof(float)),
                  0)
            << "positions " << static_cast<int>(positions) << ", " << count << " from query "
            << first;
      }
    }
  }
}

TEST(AttentionKernelTest, AWindowGivesTheBitsOfItsKeysAlone) {
  for (const Positions positions : kAllPositions) {
    if (positions == Positions::kLegacy) continue;  // whole utterances only
    for (const KeyWindow window :
         {KeyWindow{3, 2}, {0, 0}, {20, 0}, {0, 33}, {-1, 4}, {5, -1}, {40, 40}, {1000, 1000}}) {
      for (const int64_t num_cached : {0, 7}) {
        Chunk all(75, num_cached, 2, 20, positions);
        all.rows.window = window;
        Attend(all.rows, all.heads);
        for (int64_t i = 0; i < all.rows.num_queries; ++i) {
          const int64_t key = num_cached + i;
          const int64_t begin = window.left < 0 ? 0 : std::max<int64_t>(0, key - window.left);
          const int64_t end = window.right < 0
                                  ? all.rows.num_keys
                                  : std::min(all.rows.num_keys, key + window.right + 1);
          Chunk alone(75, num_cached, 2, 20, positions);
          alone.Narrow(i, 1);
          alone.NarrowKeys(begin, end - begin);
          Attend(alone.rows, alone.heads);
          ASSERT_EQ(std::memcmp(alone.context.data(), all.context.data() + i * all.dim,
                                static_cast<size_t>(all.dim) * sizeof(float)),
                    0)
              << "positions " << static_cast<int>(positions) << ", window " << window.left
              << " and " << window.right << ", query " << i << ", " << num_cached << " cached";
        }
      }
    }
  }
}

TEST(AttentionKernelTest, KeysThatAreFetchedForTheNextCallDoNotMatter) {
  Chunk chunk(16, 64, 4, 16, Positions::kByDistance);
  Attend(chunk.rows, chunk.heads);
  Chunk other = Chunk(16, 64, 4, 16, Positions::kByDistance);
  other.rows.next_keys = chunk.key_rows.data();
  other.rows.next_values = chunk.value_rows.data();
  other.rows.num_next_keys = chunk.rows.num_keys;
  Attend(other.rows, other.heads);
  EXPECT_EQ(chunk.context, other.context);
}

TEST(AttentionKernelTest, NaNReachesTheContext) {
  for (const int64_t key : {0, 17, 20}) {
    Chunk chunk(3, 18, 2, 16, Positions::kByDistance);
    chunk.keys[static_cast<size_t>(key * chunk.dim)] = std::numeric_limits<float>::quiet_NaN();
    Attend(chunk.rows, chunk.heads);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(std::isnan(chunk.context[static_cast<size_t>(i * chunk.dim)])) << key;
      EXPECT_FALSE(std::isnan(chunk.context[static_cast<size_t>(i * chunk.dim + 16)])) << key;
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
