#include "runtime/row_math/row_math.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kSwish:
      return x * Sigmoid(x);
    case Activation::kRelu:
      return std::max(0.0, x);
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kDoubleSwish:
      return x * Sigmoid(x - 1);
    case Activation::kIdentity:
      return x;
  }
  throw std::logic_error("an activation without a function");
}

void LogSoftmax(double* row, int64_t count) {
  const double high = *std::max_element(row, row + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(row[i] - high);
  const double norm = high + std::log(sum);
  for (int64_t i = 0; i < count; ++i) row[i] -= norm;
}

}  // namespace

ConstRows TensorRows(const Tensor& tensor) {
  const int64_t dim = tensor.size(tensor.dim() - 1);
  return {tensor.type(), tensor.data(), dim == 0 ? 0 : tensor.count() / dim, dim};
}

void AdvanceLstm(ConstRows gates, Rows cell, Rows hidden) {
  if (gates.type == DataType::kFloat32) {
    kernels::AdvanceLstm(gates.float32(), cell.count, cell.dim, cell.float32(), hidden.float32());
    return;
  }
  const int64_t dim = cell.dim;
  for (int64_t r = 0; r < cell.count; ++r) {
    const double* gate = gates.float64(r);
    double* c = cell.float64(r);
    double* h = hidden.float64(r);
    for (int64_t i = 0; i < dim; ++i) {
      c[i] = Sigmoid(gate[dim + i]) * c[i] + Sigmoid(gate[i]) * std::tanh(gate[2 * dim + i]);
      h[i] = Sigmoid(gate[3 * dim + i]) * std::tanh(c[i]);
    }
  }
}

void Activate(Activation activation, Rows x) {
  const int64_t count = x.count * x.dim;
  if (x.type == DataType::kFloat32) {
    kernels::Activate(activation, count, x.float32());
    return;
  }
  double* values = x.float64();
  std::transform(values, values + count, values,
                 [activation](double value) { return Activated(activation, value); });
}

void AddTo(ConstRows x, Rows to) {
  const int64_t count = x.count * x.dim;
  if (x.type == DataType::kFloat32) {
    std::transform(x.float32(), x.float32() + count, to.float32(), to.float32(),
                   [](float a, float b) { return a + b; });
  } else {
    std::transform(x.float64(), x.float64() + count, to.float64(), to.float64(),
                   [](double a, double b) { return a + b; });
  }
}

void LogSoftmaxColumns(int64_t first, int64_t count, Rows x) {
  if (count == 0) return;
  for (int64_t r = 0; r < x.count; ++r) {
    if (x.type == DataType::kFloat32) {
      kernels::LogSoftmax(1, count, x.float32(r) + first);
    } else {
      LogSoftmax(x.float64(r) + first, count);
    }
  }
}

}  // namespace runnel
