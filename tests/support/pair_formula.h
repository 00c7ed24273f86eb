// A position scheme written out for one query and one key, and the comparison of attention with it.
// The test of a scheme is its formula.
#ifndef RUNNEL_TESTS_SUPPORT_PAIR_FORMULA_H_
#define RUNNEL_TESTS_SUPPORT_PAIR_FORMULA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace runnel::testing {

// One head's query i of a chunk of C, and its key j of L.
struct Pair {
  int64_t head;
  int64_t query_frame;  // from the start of the stream
  int64_t key_frame;
  int64_t num_queries;  // C
  const double* q;      // d_k values
  const double* k;
  const double* next_q;  // that of query i + 1, null for the last

  int64_t distance() const { return query_frame - key_frame; }
};

// The tensors of one attention module by their names in it ("pos_bias_u"), or by their full names
// ("encoder.relative_keys"), row by row in float64.
class ModuleWeights {
 public:
  ModuleWeights(std::map<std::string, std::vector<double>> tensors, int64_t model_dim,
                int64_t num_heads);

  int64_t head_dim() const { return model_dim_ / num_heads_; }
  double scale() const;  // 1 / sqrt(d_k)

  bool Has(const std::string& name) const { return tensors_.count(name) > 0; }
  const std::vector<double>& At(const std::string& name) const { return tensors_.at(name); }

  // One head's d_k values of W_pos PE(position), with the bias of linear_pos if there is one; and
  // of pos_bias_u or pos_bias_v.
  const double* Position(int64_t position, int64_t head) const;
  const double* Bias(const std::string& name, int64_t head) const;

  // sum_n (scale q_n + bias_n) k_n; without a bias: null.
  double Product(const double* q, double q_scale, const double* bias, const double* k) const;

 private:
  std::map<std::string, std::vector<double>> tensors_;
  int64_t model_dim_;
  int64_t num_heads_;
  mutable std::unordered_map<int64_t, std::vector<double>> positions_;
};

// PE(position), d values: sine and cosine of p 10000^(-2m/d), in extended precision.
std::vector<double> SinusoidsByFormula(int64_t position, int64_t model_dim);

class PairFormula {
 public:
  virtual ~PairFormula() = default;
  // Scaled.
  virtual double Score(const Pair& pair) const = 0;
  // Added to value n of the key, n < d_k.
  virtual double ValueTerm(const Pair& /*pair*/, int64_t /*n*/) const { return 0; }
};

using MakeFormula = std::function<std::unique_ptr<PairFormula>(const ModuleWeights& weights)>;

enum class Chunks { kAny, kWholeUtteranceOnly };

// Attention with this `encoder.position` must be the formula, in every arithmetic of
// FullPrecision(): any number of queries and cached keys, anywhere in the stream, with and without
// a chunk mask.
void ExpectAttentionIs(const std::string& position, const MakeFormula& make_formula,
                       Chunks chunks = Chunks::kAny);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_PAIR_FORMULA_H_
