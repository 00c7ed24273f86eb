#include "encoder/position/linear_pos.h"

#include <algorithm>
#include <vector>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"

namespace runnel {
namespace {

// Rows whose sinusoids are in memory at a time.
constexpr int64_t kBlockRows = 64;

// Packed for the call alone: the rows of a table are computed a few times in the life of a model,
// which keeps the weights in the form of the file.
class Float32Projection {
 public:
  Float32Projection(const Tensor& weight, const Tensor& bias)
      : bias_(Float32Values(bias)),
        linear_(weight.float32(), bias_.empty() ? nullptr : bias_.data(),
                {weight.size(1), weight.size(0)}, kernels::MatmulType::kFloat32,
                kernels::MatmulOutput::kStore) {}

  void Forward(ConstRows sinusoids, Rows rows) const {
    const double* from = sinusoids.float64();
    std::vector<float> values(from, from + sinusoids.count * sinusoids.dim);
    kernels::Scratch scratch;
    const kernels::MatmulInput input = kernels::MatmulInput::Take(
        &scratch, kernels::MatmulType::kFloat32, sinusoids.count, sinusoids.dim);
    kernels::StoreRows(values.data(), sinusoids.count, input);
    linear_.Forward(input, sinusoids.count, rows.float32());
  }

 private:
  std::vector<float> bias_;
  kernels::PackedLinear linear_;
};

// Of the reference, for which speed does not matter.
class Float64Projection {
 public:
  Float64Projection(const Tensor& weight, const Tensor& bias) : weight_(weight), bias_(bias) {}

  void Forward(ConstRows sinusoids, Rows rows) const {
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t i = 0; i < rows.dim; ++i) {
        const double* weights = weight_.float64() + i * sinusoids.dim;
        double sum = bias_.defined() ? bias_.float64()[i] : 0;
        for (int64_t k = 0; k < sinusoids.dim; ++k) sum += weights[k] * sinusoids.float64(r)[k];
        rows.float64(r)[i] = sum;
      }
    }
  }

 private:
  const Tensor& weight_;
  const Tensor& bias_;
};

template <class Projection>
void Project(const Projection& projection, const Sinusoids& sinusoids, int64_t first, int64_t step,
             Rows rows) {
  for (int64_t done = 0; done < rows.count; done += kBlockRows) {
    const int64_t count = std::min(kBlockRows, rows.count - done);
    const int64_t position = first + step * done;
    const Matrix block = sinusoids.Rows(position, position + step * (count - 1));
    projection.Forward(block.rows(), rows.Part(done, count));
  }
}

}  // namespace

LinearPos::LinearPos(Weights* weights, const std::string& attention_name,
                     const AttentionSizes& sizes, bool bias)
    : weight_(
          weights->Take(attention_name + ".linear_pos.weight", {sizes.model_dim, sizes.model_dim})),
      sinusoids_(sizes.model_dim) {
  if (bias) bias_ = weights->Take(attention_name + ".linear_pos.bias", {sizes.model_dim});
}

Matrix LinearPos::Rows(int64_t first, int64_t last) const {
  const int64_t step = first <= last ? 1 : -1;
  Matrix rows(data_type(), dim(), (last - first) * step + 1);
  if (rows.type() == DataType::kFloat64) {
    Project(Float64Projection(weight_, bias_), sinusoids_, first, step, rows.rows());
  } else {
    Project(Float32Projection(weight_, bias_), sinusoids_, first, step, rows.rows());
  }
  return rows;
}

}  // namespace runnel
