#include "tools/benchmark/matmul_timer.h"

#include <algorithm>
#include <cstdint>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "tools/benchmark/durations.h"

namespace runnel {
namespace {

std::optional<kernels::MatmulType> TypeOf(const std::string& precision) {
  if (precision == "float32") return kernels::MatmulType::kFloat32;
  if (precision == "bfloat16") return kernels::MatmulType::kBfloat16;
  if (precision == "int8" || precision == "int4") return kernels::MatmulType::kInt8;
  return std::nullopt;
}

// Values between -1 and 1.
std::vector<float> Values(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t random = 1;
  for (float& value : values) {
    random = random * 1664525U + 1013904223U;
    value = static_cast<float>(random >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return values;
}

// A convolution is measured as the matmul of its patches.
struct Sizes {
  int64_t rows;
  int64_t inputs;
};
Sizes SizesOf(const Matmul& matmul) {
  return {matmul.rows * matmul.height * matmul.width,
          matmul.inputs * matmul.kernel_size * matmul.kernel_size};
}

}  // namespace

std::optional<MatmulTimer> MatmulTimer::Make(const std::string& precision,
                                             const std::vector<Matmul>& matmuls) {
  const std::optional<kernels::MatmulType> type = TypeOf(precision);
  if (!type) return std::nullopt;
  const kernels::WeightFormat format =
      precision == "int4" ? kernels::WeightFormat::kFourBits : kernels::WeightFormat::kValues;
  MatmulTimer timer;
  timer.type_ = *type;
  for (const Matmul& matmul : matmuls) {
    const auto [rows, inputs] = SizesOf(matmul);
    timer.operations_.push_back(
        {matmul.part, rows,
         kernels::PackedLinear(Values(inputs * matmul.outputs).data(), nullptr,
                               {inputs, matmul.outputs}, *type, kernels::MatmulOutput::kStore,
                               std::nullopt, format)});
    timer.max_inputs_ = std::max(timer.max_inputs_, rows * inputs);
    timer.max_outputs_ = std::max(timer.max_outputs_, rows * matmul.outputs);
  }
  timer.values_ = Values(timer.max_inputs_);
  return timer;
}

std::array<double, kNumModelParts> MatmulTimer::Run() {
  std::array<double, kNumModelParts> milliseconds = {};
  kernels::Scratch scratch;
  auto* y = scratch.Take<float>(max_outputs_);
  for (const Operation& operation : operations_) {
    kernels::Scratch pieces;
    const auto input = kernels::MatmulInput::Take(&pieces, type_, operation.rows,
                                                  operation.linear.shape().input_dim);
    kernels::StoreRows(values_.data(), operation.rows, input);
    milliseconds[operation.part] +=
        MillisecondsOf([&] { operation.linear.Forward(input, operation.rows, y); });
  }
  return milliseconds;
}

std::optional<double> PeakGigaOperations(const std::string& precision, double seconds) {
  constexpr std::array<std::array<int64_t, 3>, 5> kShapes = {
      {{64, 2048, 256}, {256, 512, 512}, {256, 2048, 256}, {512, 1024, 512}, {512, 256, 1024}}};
  // The same operations.
  const std::string computed = precision == "int4" ? "int8" : precision;
  std::optional<double> peak;
  for (const auto& [rows, inputs, outputs] : kShapes) {
    auto timer = MatmulTimer::Make(computed, {{kCtcPart, rows, inputs, outputs}});
    if (!timer) return std::nullopt;
    timer->Run();
    std::vector<double> milliseconds;
    double spent_ms = 0;
    do {
      milliseconds.push_back(timer->Run()[kCtcPart]);
      spent_ms += milliseconds.back();
    } while (spent_ms < seconds * 1000 / kShapes.size());
    const double operations = 2.0 * static_cast<double>(rows * inputs * outputs);
    peak = std::max(peak.value_or(0), operations / Summarize(milliseconds).median_ms * 1e-6);
  }
  return peak;
}

}  // namespace runnel
