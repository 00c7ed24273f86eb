#include "encoder/cpu/kernels/packed_linear.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/kernels/one_thread.h"
#include "encoder/cpu/kernels/packed_matrix.h"
#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::kernels {
namespace {

using DataType = dnnl::memory::data_type;

// Matmuls exist for 1 to 16 rows and for multiples of 16. Others are computed in two parts.
constexpr int64_t kRowStep = 16;
constexpr int64_t kMaxRows = 256;
constexpr int64_t kNumRowCounts = kRowStep + kMaxRows / kRowStep - 1;
// A block's int32 sums stay in the second-level cache until they are dequantised.
constexpr int64_t kMaxSumBytes = 256 << 10;

size_t IndexOf(int64_t rows) {
  return static_cast<size_t>(rows <= kRowStep ? rows - 1 : kRowStep + rows / kRowStep - 2);
}

// Rows of the next matmul when `rows` are left and at most `max_rows` (a multiple of kRowStep) may
// be taken.
int64_t NextRows(int64_t rows, int64_t max_rows) {
  if (rows <= kRowStep) return rows;
  return std::min(max_rows, rows / kRowStep * kRowStep);
}

const dnnl::stream& ThreadStream() {
  thread_local const dnnl::stream stream(Engine());
  return stream;
}

dnnl::memory::desc RowMajor(int64_t rows, int64_t columns, DataType type) {
  return {{rows, columns}, type, dnnl::memory::format_tag::ab};
}

dnnl::algorithm AlgorithmOf(Activation activation) {
  switch (activation) {
    case Activation::kSwish:
      return dnnl::algorithm::eltwise_swish;
    case Activation::kRelu:
      return dnnl::algorithm::eltwise_relu;
    case Activation::kGelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Activation::kTanh:
      return dnnl::algorithm::eltwise_tanh;
  }
  throw std::logic_error("an activation without an algorithm");
}

// The arguments of one execution of a matmul. Making these objects costs as much as a small matmul,
// so they are reused.
class MatmulArguments {
 public:
  MatmulArguments(const dnnl::matmul::primitive_desc& description, const dnnl::memory& weights,
                  const dnnl::memory* bias)
      : src_(description.src_desc(), Engine(), nullptr),
        dst_(description.dst_desc(), Engine(), nullptr),
        scratchpad_(description.scratchpad_desc(), Engine(), nullptr) {
    arguments_ = {{DNNL_ARG_SRC, src_.get()},
                  {DNNL_ARG_WEIGHTS, weights.get()},
                  {DNNL_ARG_DST, dst_.get()},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
    if (bias != nullptr) arguments_.push_back({DNNL_ARG_BIAS, bias->get()});
  }

  void Execute(const dnnl::matmul& primitive, const void* x, void* y, void* scratch) {
    src_.set_data_handle(const_cast<void*>(x));
    dst_.set_data_handle(y);
    scratchpad_.set_data_handle(scratch);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive.get(), ThreadStream().get(),
                               static_cast<int>(arguments_.size()), arguments_.data()),
        "could not execute a matmul");
  }

 private:
  dnnl::memory src_, dst_, scratchpad_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// One matmul for one number of rows. Run may be called from several threads at once.
class Matmul {
 public:
  // `bias`: null where there is none.
  Matmul(const dnnl::matmul::primitive_desc& description, dnnl::memory weights,
         const dnnl::memory* bias)
      : description_(description),
        primitive_(description),
        weights_(std::move(weights)),
        scratch_bytes_(static_cast<int64_t>(description.scratchpad_desc().get_size())) {
    if (bias != nullptr) bias_ = *bias;
  }

  void Run(const void* x, void* y) const {
    Scratch scratch;
    std::unique_ptr<MatmulArguments> arguments = Take();
    arguments->Execute(primitive_, x, y, scratch.Take<std::byte>(scratch_bytes_));
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(arguments));
  }

 private:
  std::unique_ptr<MatmulArguments> Take() const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<MatmulArguments> arguments = std::move(idle_.back());
        idle_.pop_back();
        return arguments;
      }
    }
    return std::make_unique<MatmulArguments>(description_, weights_, bias_ ? &*bias_ : nullptr);
  }

  dnnl::matmul::primitive_desc description_;
  dnnl::matmul primitive_;
  dnnl::memory weights_;
  std::optional<dnnl::memory> bias_;
  int64_t scratch_bytes_;
  mutable std::mutex mutex_;  // of `idle_`: as many as ever ran at once
  mutable std::vector<std::unique_ptr<MatmulArguments>> idle_;
};

}  // namespace

struct PackedLinear::Parts {
  LinearShape shape;
  MatmulType type;
  MatmulOutput result;
  std::optional<Activation> activation;
  DataType src_type, dst_type;
  PackedMatrix matrix;
  dnnl::memory bias;  // float matmuls only
  std::vector<float> bias_values;

  mutable std::mutex mutex;  // of `matmuls`
  mutable std::vector<std::unique_ptr<Matmul>> matmuls;
  mutable std::array<std::atomic<const Matmul*>, kNumRowCounts> by_rows{};

  bool is_int8() const { return type == MatmulType::kInt8; }

  dnnl::matmul::primitive_desc Describe(int64_t rows, const dnnl::memory::desc& packed) const {
    const dnnl::memory::desc src = RowMajor(rows, shape.input_dim, src_type);
    const dnnl::memory::desc dst = RowMajor(rows, shape.output_dim, dst_type);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (is_int8()) return {dnnl::matmul::desc(src, packed, dst), attributes, Engine()};
    dnnl::post_ops after;
    if (activation) after.append_eltwise(1.0f, AlgorithmOf(*activation), AlphaOf(*activation), 0);
    if (result == MatmulOutput::kAdd) after.append_sum(1.0f);
    attributes.set_post_ops(after);
    return {dnnl::matmul::desc(src, packed, RowMajor(1, shape.output_dim, DataType::f32), dst),
            attributes, Engine()};
  }

  static float AlphaOf(Activation kind) { return kind == Activation::kSwish ? 1.0f : 0.0f; }

  const Matmul& ForRows(int64_t rows) const {
    std::atomic<const Matmul*>& slot = by_rows[IndexOf(rows)];
    const Matmul* matmul = slot.load(std::memory_order_acquire);
    if (matmul != nullptr) return *matmul;
    const std::lock_guard<std::mutex> lock(mutex);
    matmul = slot.load(std::memory_order_relaxed);
    if (matmul == nullptr) {
      const OneThread guard;
      matmuls.push_back(std::make_unique<Matmul>(Describe(rows, matrix.values.get_desc()),
                                                 matrix.values, is_int8() ? nullptr : &bias));
      matmul = matmuls.back().get();
      slot.store(matmul, std::memory_order_release);
    }
    return *matmul;
  }

  // y: (rows, output_dim) of dst_type.
  void Run(const void* x, int64_t rows, void* y) const {
    const Matmul& matmul = ForRows(rows);
    // Below AVX-512 the number of threads is chosen now, not when the matmul was made.
    std::optional<OneThread> one_thread;
    if (!UsedInstructionSet().any_number_of_rows) one_thread.emplace();
    matmul.Run(x, y);
  }

  // The layout that the matmuls read.
  dnnl::memory::desc WantedLayout() const {
    const DataType weight_type = is_int8() ? DataType::s8 : src_type;
    return Describe(
               kRowStep,
               {{shape.input_dim, shape.output_dim}, weight_type, dnnl::memory::format_tag::any})
        .weights_desc();
  }

  // `bias`: (output_dim) or null.
  void SetBias(const float* values);

  // bfloat16 on a CPU that cannot multiply it: rounded values, multiplied as float32.
  bool is_widened() const { return type == MatmulType::kBfloat16 && src_type == DataType::f32; }

  // Where the rounding of a row depends on the number of rows, a matmul always has kRowStep rows.
  bool has_fixed_rows() const { return !is_int8() && !UsedInstructionSet().any_number_of_rows; }

  // One block of rows; y or y_input, the other is null.
  void MultiplyBlock(const MatmulInput& x, int64_t rows, float* y,
                     const MatmulInput* y_input) const;
  void MultiplyInt8(const MatmulInput& x, int64_t rows, float* y, const MatmulInput* y_input) const;
  // The same on copies of the rows in float32: for rounded values, or to fill up to kRowStep rows.
  void MultiplyCopies(const MatmulInput& x, int64_t rows, float* y,
                      const MatmulInput* y_input) const;
};

void PackedLinear::Parts::MultiplyBlock(const MatmulInput& x, int64_t rows, float* y,
                                        const MatmulInput* y_input) const {
  if (is_int8()) return MultiplyInt8(x, rows, y, y_input);
  if (has_fixed_rows() || is_widened()) return MultiplyCopies(x, rows, y, y_input);
  Run(x.values, rows, y_input == nullptr ? static_cast<void*>(y) : y_input->values);
}

void PackedLinear::Parts::MultiplyInt8(const MatmulInput& x, int64_t rows, float* y,
                                       const MatmulInput* y_input) const {
  Scratch scratch;
  auto* sums = scratch.Take<int32_t>(rows * shape.output_dim);
  Run(x.values, rows, sums);
  const Int8Outputs outputs{matrix.scales.data(), matrix.column_sums.data(), bias_values.data(),
                            activation};
  if (y_input != nullptr) {
    Dequantize(sums, rows, shape.output_dim, x, outputs, *y_input);
  } else {
    Dequantize(sums, rows, shape.output_dim, x, outputs, result == MatmulOutput::kAdd, y);
  }
}

void PackedLinear::Parts::MultiplyCopies(const MatmulInput& x, int64_t rows, float* y,
                                         const MatmulInput* y_input) const {
  Scratch scratch;
  const int64_t num_rows = has_fixed_rows() ? kRowStep : rows;
  const int64_t num_inputs = rows * shape.input_dim;
  const int64_t num_outputs = rows * shape.output_dim;
  auto* inputs = scratch.Take<float>(num_rows * shape.input_dim);
  if (type == MatmulType::kBfloat16) {
    WidenBfloat16(x.bfloat16_row(0), num_inputs, inputs);
  } else {
    std::copy(x.float_row(0), x.float_row(0) + num_inputs, inputs);
  }
  std::fill(inputs + num_inputs, inputs + num_rows * shape.input_dim, 0.0f);
  auto* outputs = scratch.Take<float>(num_rows * shape.output_dim);
  std::fill(outputs, outputs + num_rows * shape.output_dim, 0.0f);
  if (result == MatmulOutput::kAdd) std::copy(y, y + num_outputs, outputs);
  Run(inputs, num_rows, outputs);
  if (y_input != nullptr) {
    StoreRows(outputs, rows, *y_input);
  } else {
    std::copy(outputs, outputs + num_outputs, y);
  }
}

void PackedLinear::Parts::SetBias(const float* values) {
  bias_values.assign(static_cast<size_t>(shape.output_dim), 0.0f);
  if (values != nullptr) bias_values.assign(values, values + shape.output_dim);
  if (is_int8()) return;
  bias = dnnl::memory(RowMajor(1, shape.output_dim, DataType::f32), Engine(), bias_values.data());
}

PackedLinear::PackedLinear(LinearShape shape, MatmulType type, MatmulOutput result,
                           std::optional<Activation> activation)
    : parts_(std::make_unique<Parts>()) {
  UsedInstructionSet();  // limits the small operations before the first of them runs
  Parts& parts = *parts_;
  parts.shape = shape;
  parts.type = type;
  parts.result = result;
  parts.activation = activation;
  const bool widened = type == MatmulType::kBfloat16 && !UsedInstructionSet().bfloat16_matmul;
  parts.src_type = widened                         ? DataType::f32
                   : type == MatmulType::kBfloat16 ? DataType::bf16
                   : type == MatmulType::kInt8     ? DataType::u8
                                                   : DataType::f32;
  parts.dst_type = parts.is_int8()                  ? DataType::s32
                   : result == MatmulOutput::kInput ? parts.src_type
                                                    : DataType::f32;
}

PackedLinear::PackedLinear(const float* weight, const float* bias, LinearShape shape,
                           MatmulType type, MatmulOutput result,
                           std::optional<Activation> activation)
    : PackedLinear(shape, type, result, activation) {
  try {
    parts_->matrix = PackMatrix(weight, shape, type, parts_->WantedLayout());
  } catch (const dnnl::error& error) {
    throw std::runtime_error("oneDNN has no matmul of " + std::to_string(shape.input_dim) + " by " +
                             std::to_string(shape.output_dim) + " here: " + error.what());
  }
  parts_->SetBias(bias);
}

PackedLinear::PackedLinear(const StoredMatrix& matrix, const float* bias, MatmulType type,
                           MatmulOutput result, std::optional<Activation> activation)
    : PackedLinear(matrix.shape, type, result, activation) {
  parts_->matrix = AdoptMatrix(matrix, type, parts_->WantedLayout());
  parts_->SetBias(bias);
}

StoredMatrix PackedLinear::Stored() const { return StoredFrom(parts_->matrix, parts_->shape); }

PackedLinear::~PackedLinear() = default;
PackedLinear::PackedLinear(PackedLinear&&) noexcept = default;
PackedLinear& PackedLinear::operator=(PackedLinear&&) noexcept = default;

const LinearShape& PackedLinear::shape() const { return parts_->shape; }

void PackedLinear::Forward(const MatmulInput& x, int64_t rows, float* y) const {
  Multiply(x, rows, y, nullptr);
}

void PackedLinear::Forward(const MatmulInput& x, int64_t rows, const MatmulInput& y) const {
  Multiply(x, rows, nullptr, &y);
}

void PackedLinear::Multiply(const MatmulInput& x, int64_t rows, float* y,
                            const MatmulInput* y_input) const {
  const Parts& parts = *parts_;
  const int64_t output_dim = parts.shape.output_dim;
  int64_t max_rows = kMaxRows;
  if (parts.is_int8()) {
    const auto sum_bytes = output_dim * static_cast<int64_t>(sizeof(int32_t));
    max_rows = std::clamp(kMaxSumBytes / sum_bytes / kRowStep * kRowStep, kRowStep, kMaxRows);
  }
  if (parts.has_fixed_rows()) max_rows = kRowStep;
  for (int64_t first = 0; first < rows;) {
    const int64_t count = NextRows(rows - first, max_rows);
    const MatmulInput input = x.From(first);
    if (y_input == nullptr) {
      parts.MultiplyBlock(input, count, y + first * output_dim, nullptr);
    } else {
      const MatmulInput output = y_input->From(first);
      parts.MultiplyBlock(input, count, nullptr, &output);
    }
    first += count;
  }
}

}  // namespace runnel::kernels
