#include "encoder/cpu/kernels/row_kernels.h"

#include <cmath>
#include <limits>

#include "encoder/cpu/kernels/dispatch.h"
#include "encoder/cpu/kernels/step_threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/row_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

void LayerNormFloat(const float* x, int64_t stride, int64_t rows, int64_t dim,
                    const NormWeights& norm, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    NormalizeRow(x + r * stride, dim, norm.weight, norm.bias, norm.epsilon, y + r * dim);
  }
}

void LayerNormInput(const float* x, int64_t rows, int64_t dim, const NormWeights& norm,
                    const MatmulInput& y) {
  Scratch scratch;
  auto* temporary = scratch.Take<float>(dim);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = RowToCompute(y, r, temporary);
    NormalizeRow(x + r * dim, dim, norm.weight, norm.bias, norm.epsilon, row);
    StoreRow(row, y, r);
  }
}

void BasicNormRows(const float* x, int64_t rows, int64_t dim, float epsilon, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    NormalizeRowByMagnitude(x + r * dim, dim, epsilon, y + r * dim);
  }
}

void StoreFloatRows(const float* x, int64_t rows, const MatmulInput& y) {
  for (int64_t r = 0; r < rows; ++r) StoreRow(x + r * y.dim, y, r);
}

void GluRows(const float* x, int64_t rows, int64_t dim, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* value = x + r * 2 * dim;
    const float* gate = value + dim;
    float* out = y + r * dim;
    ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
      part.Store(hn::Mul(part.Load(value + i), Sigmoid(part.Load(gate + i))), out + i);
    });
  }
}

void GateRows(const float* x, const float* gates, int64_t rows, Activation activation,
              const MatmulInput& y) {
  const int64_t dim = y.dim;
  Scratch scratch;
  auto* temporary = scratch.Take<float>(dim);
  WithActivation(activation, [&](auto function) HWY_ATTR {
    for (int64_t r = 0; r < rows; ++r) {
      const float* value = x + r * 2 * dim;
      const float* gate = gates + r * dim;
      float* row = RowToCompute(y, r, temporary);
      ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
        part.Store(hn::Mul(part.Load(value + i), function(part.Load(gate + i))), row + i);
      });
      StoreRow(row, y, r);
    }
  });
}

void ActivateValues(Activation activation, int64_t count, float* x) {
  WithActivation(activation, [&](auto function) HWY_ATTR {
    ForEachVector(count, [&](int64_t i, auto part)
                             HWY_ATTR { part.Store(function(part.Load(x + i)), x + i); });
  });
}

void AdvanceLstmRows(const float* gates, int64_t rows, int64_t dim, float* cell, float* hidden) {
  const Tanh tanh;
  for (int64_t r = 0; r < rows; ++r) {
    const float* gate = gates + r * 4 * dim;
    float* c = cell + r * dim;
    float* h = hidden + r * dim;
    ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
      const FloatVector kept = hn::Mul(Sigmoid(part.Load(gate + dim + i)), part.Load(c + i));
      const FloatVector added = tanh(part.Load(gate + 2 * dim + i));
      const FloatVector next = hn::MulAdd(Sigmoid(part.Load(gate + i)), added, kept);
      part.Store(next, c + i);
      part.Store(hn::Mul(Sigmoid(part.Load(gate + 3 * dim + i)), tanh(next)), h + i);
    });
  }
}

void LogSoftmaxRows(int64_t rows, int64_t dim, float* x) {
  const FloatTag d;
  const FloatVector lowest = hn::Set(d, std::numeric_limits<float>::lowest());
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * dim;
    FloatVector highs = lowest;
    ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
      highs = hn::Max(highs, part.OrElse(part.Load(row + i), lowest));
    });
    const FloatVector high = hn::Set(d, MaxOf(highs));
    FloatVector sums = hn::Zero(d);
    ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
      const FloatVector e = Exp(hn::Sub(part.Load(row + i), high));
      sums = hn::Add(sums, part.OrElse(e, hn::Zero(d)));
    });
    const FloatVector norm = hn::Set(d, hn::GetLane(high) + std::log(SumOf(sums)));
    ForEachVector(dim, [&](int64_t i, auto part)
                           HWY_ATTR { part.Store(hn::Sub(part.Load(row + i), norm), row + i); });
  }
}

int64_t IndexOfRowMaximum(const float* row, int64_t dim) {
  const FloatTag d;
  const FloatVector infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const FloatVector lowest = hn::Neg(infinity);
  FloatVector highs = lowest;
  FloatMask are_below = hn::Lt(lowest, infinity);
  ForEachVector(dim, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVector v = part.OrElse(part.Load(row + i), lowest);
    are_below = hn::And(are_below, hn::Lt(v, infinity));
    highs = hn::Max(highs, v);
  });
  if (!hn::AllTrue(d, are_below)) return -1;
  const float high = MaxOf(highs);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= dim; i += lanes) {
    const intptr_t lane = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, row + i), hn::Set(d, high)));
    if (lane >= 0) return i + lane;
  }
  while (row[i] != high) ++i;
  return i;
}

void RoundBfloat16(const float* x, int64_t count, uint16_t* y) { ToBfloat16(x, count, y); }
void UnpackBfloat16(const uint16_t* x, int64_t count, float* y) { FromBfloat16(x, count, y); }

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

RUNNEL_EXPORT(LayerNormFloat);
RUNNEL_EXPORT(LayerNormInput);
RUNNEL_EXPORT(BasicNormRows);
RUNNEL_EXPORT(StoreFloatRows);
RUNNEL_EXPORT(GluRows);
RUNNEL_EXPORT(GateRows);
RUNNEL_EXPORT(ActivateValues);
RUNNEL_EXPORT(AdvanceLstmRows);
RUNNEL_EXPORT(LogSoftmaxRows);
RUNNEL_EXPORT(IndexOfRowMaximum);
RUNNEL_EXPORT(RoundBfloat16);
RUNNEL_EXPORT(UnpackBfloat16);

// Calls body(first row, number of rows) for parts of the rows, in the threads of the step.
template <class Body>
static void InParts(int64_t rows, int64_t dim, const Body& body) {
  StepThreads::Split(rows, kOperationsOfValue * rows * dim,
                     [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}

void LayerNorm(const float* x, int64_t rows, int64_t dim, const NormWeights& norm, float* y) {
  InParts(rows, dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(LayerNormFloat)(x + first * dim, dim, count, dim, norm, y + first * dim);
  });
}
void LayerNormOfSecondHalf(const float* x, int64_t rows, int64_t dim, const NormWeights& norm,
                           float* y) {
  InParts(rows, dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(LayerNormFloat)
    (x + (2 * first + 1) * dim, 2 * dim, count, dim, norm, y + first * dim);
  });
}
void LayerNorm(const float* x, int64_t rows, int64_t dim, const NormWeights& norm,
               const MatmulInput& y) {
  InParts(rows, dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(LayerNormInput)(x + first * dim, count, dim, norm, y.From(first));
  });
}
void BasicNorm(const float* x, int64_t rows, int64_t dim, float epsilon, float* y) {
  InParts(rows, dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(BasicNormRows)(x + first * dim, count, dim, epsilon, y + first * dim);
  });
}
void StoreRows(const float* x, int64_t rows, const MatmulInput& y) {
  InParts(rows, y.dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(StoreFloatRows)(x + first * y.dim, count, y.From(first));
  });
}
void Glu(const float* x, int64_t rows, int64_t dim, float* y) {
  InParts(rows, dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(GluRows)(x + first * 2 * dim, count, dim, y + first * dim);
  });
}
void MultiplyByGates(const float* x, const float* gates, int64_t rows, Activation activation,
                     const MatmulInput& y) {
  InParts(rows, y.dim, [&](int64_t first, int64_t count) {
    RUNNEL_DISPATCH(GateRows)
    (x + first * 2 * y.dim, gates + first * y.dim, count, activation, y.From(first));
  });
}
void Activate(Activation activation, int64_t count, float* x) {
  RUNNEL_DISPATCH(ActivateValues)(activation, count, x);
}
void AdvanceLstm(const float* gates, int64_t rows, int64_t dim, float* cell, float* hidden) {
  RUNNEL_DISPATCH(AdvanceLstmRows)(gates, rows, dim, cell, hidden);
}
void LogSoftmax(int64_t rows, int64_t dim, float* x) {
  RUNNEL_DISPATCH(LogSoftmaxRows)(rows, dim, x);
}
int64_t IndexOfMaximum(const float* row, int64_t dim) {
  return RUNNEL_DISPATCH(IndexOfRowMaximum)(row, dim);
}
void RoundToBfloat16(const float* x, int64_t count, uint16_t* y) {
  RUNNEL_DISPATCH(RoundBfloat16)(x, count, y);
}
void WidenBfloat16(const uint16_t* x, int64_t count, float* y) {
  RUNNEL_DISPATCH(UnpackBfloat16)(x, count, y);
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
