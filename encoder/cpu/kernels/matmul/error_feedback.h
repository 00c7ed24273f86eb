// Rounds the weights of a matmul one input after the other, so that later weights make up for the
// errors of earlier ones on the rows that the matmul sees (Frantar et al. 2022, "GPTQ", section 3).
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_ERROR_FEEDBACK_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_ERROR_FEEDBACK_H_

#include <cstdint>
#include <vector>

namespace runnel::kernels {

// The sum of x x^T over rows x.
class InputMoments {
 public:
  explicit InputMoments(int64_t dim);

  // rows: (num_rows, dim).
  void Add(const float* rows, int64_t num_rows);

  int64_t dim() const { return dim_; }
  double at(int64_t i, int64_t j) const;

 private:
  int64_t dim_;
  std::vector<double> sums_;  // (dim, dim), whose lower triangle is filled
};

// How the weights of later inputs make up for the rounding error of one input's weight: so that the
// mean square of the output's change over the rows is least.
class ErrorFeedback {
 public:
  // Time grows with the cube of the number of inputs.
  explicit ErrorFeedback(const InputMoments& moments);

  int64_t dim() const { return dim_; }

  // Adds what makes up for `error` to weights[input + 1] and those after it; (dim). error: of
  // weights[input], its value minus the rounded one.
  void Spread(int64_t input, float error, float* weights) const;

 private:
  int64_t dim_;
  std::vector<float> factors_;  // (dim, dim), whose upper triangle is used
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_ERROR_FEEDBACK_H_
