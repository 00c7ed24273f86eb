#include "encoder/cpu/kernels/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/kernels/one_thread.h"
#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::kernels {
namespace {

using DataType = dnnl::memory::data_type;

// Sums of more products of uint8 and int8 could leave int32.
constexpr int64_t kMaxInt8Inputs = 65536;

// Without VNNI, pairs of products are summed in 16 bits, which saturate: 255 * 63 * 2 fits.
int Int8Limit() { return UsedInstructionSet().exact_int8_matmul ? 127 : 63; }

dnnl::memory Reordered(dnnl::memory source, const dnnl::memory::desc& wanted) {
  const OneThread guard;
  dnnl::memory packed(wanted, Engine());
  dnnl::stream stream(Engine());
  dnnl::reorder(source, packed).execute(stream, source, packed);
  stream.wait();
  return packed;
}

// Packs a plain (output_dim, input_dim) matrix.
dnnl::memory PackPlain(const void* values, LinearShape shape, DataType type,
                       const dnnl::memory::desc& wanted) {
  const dnnl::memory::desc plain({shape.input_dim, shape.output_dim}, type,
                                 dnnl::memory::format_tag::ba);
  return Reordered(dnnl::memory(plain, Engine(), const_cast<void*>(values)), wanted);
}

PackedMatrix PackInt8(const float* weight, LinearShape shape, const dnnl::memory::desc& wanted) {
  const auto limit = static_cast<float>(Int8Limit());
  PackedMatrix packed;
  std::vector<int8_t> quantized(static_cast<size_t>(shape.input_dim * shape.output_dim));
  for (int64_t n = 0; n < shape.output_dim; ++n) {
    const float* row = weight + n * shape.input_dim;
    float largest = 0.0f;
    for (int64_t k = 0; k < shape.input_dim; ++k) largest = std::max(largest, std::abs(row[k]));
    const float scale = largest > 0.0f ? largest / limit : 1.0f;
    int32_t sum = 0;
    for (int64_t k = 0; k < shape.input_dim; ++k) {
      const auto value = static_cast<int8_t>(std::nearbyint(row[k] / scale));
      quantized[static_cast<size_t>(n * shape.input_dim + k)] = value;
      sum += value;
    }
    packed.scales.push_back(scale);
    packed.column_sums.push_back(sum);
  }
  packed.values = PackPlain(quantized.data(), shape, DataType::s8, wanted);
  return packed;
}

// For a CPU that cannot multiply bfloat16: the rounded values, multiplied as float32.
dnnl::memory PackRoundedToBfloat16(const float* weight, LinearShape shape,
                                   const dnnl::memory::desc& wanted) {
  const int64_t count = shape.input_dim * shape.output_dim;
  std::vector<uint16_t> rounded(static_cast<size_t>(count));
  std::vector<float> widened(static_cast<size_t>(count));
  RoundToBfloat16(weight, count, rounded.data());
  WidenBfloat16(rounded.data(), count, widened.data());
  return PackPlain(widened.data(), shape, DataType::f32, wanted);
}

// An enumeration in the bytes of a layout, which may be damaged: read as one, a value that it does
// not have would be undefined behaviour.
int EnumerationAt(std::string_view layout, size_t offset) {
  int value = 0;
  static_assert(sizeof(dnnl_format_kind_t) == sizeof(value));
  static_assert(sizeof(dnnl_data_type_t) == sizeof(value));
  std::memcpy(&value, layout.data() + offset, sizeof(value));
  return value;
}

[[noreturn]] void ThrowWrongLayout(const StoredMatrix& stored) {
  throw std::runtime_error("the layout of a stored matrix does not describe its " +
                           std::to_string(stored.values.size()) + " bytes");
}

// The layout, checked so far that oneDNN reads no other bytes than `values`.
dnnl::memory::desc LayoutOf(const StoredMatrix& stored) {
  dnnl::memory::desc layout;
  if (stored.layout.size() != sizeof(layout.data)) {
    throw std::runtime_error("the layout of a stored matrix has " +
                             std::to_string(stored.layout.size()) + " bytes, expected " +
                             std::to_string(sizeof(layout.data)));
  }
  const int kind = EnumerationAt(stored.layout, offsetof(dnnl_memory_desc_t, format_kind));
  const int value_type = EnumerationAt(stored.layout, offsetof(dnnl_memory_desc_t, data_type));
  if (kind != dnnl_blocked ||
      (value_type != dnnl_f32 && value_type != dnnl_bf16 && value_type != dnnl_s8)) {
    ThrowWrongLayout(stored);
  }
  std::memcpy(&layout.data, stored.layout.data(), sizeof(layout.data));
  const dnnl_memory_desc_t& fields = layout.data;
  const auto& blocks = fields.format_desc.blocking;
  bool fits = fields.ndims == 2 && fields.dims[0] == stored.shape.input_dim &&
              fields.dims[1] == stored.shape.output_dim && fields.offset0 == 0 &&
              fields.extra.flags == dnnl_memory_extra_flag_none && blocks.inner_nblks >= 0 &&
              blocks.inner_nblks <= 4;
  int64_t block_sizes[2] = {1, 1};
  for (int i = 0; fits && i < blocks.inner_nblks; ++i) {
    const auto dim = blocks.inner_idxs[i];
    fits = (dim == 0 || dim == 1) && blocks.inner_blks[i] > 0 && blocks.inner_blks[i] <= 1024;
    if (fits) block_sizes[dim] *= blocks.inner_blks[i];
  }
  // The address of the last element, in elements.
  int64_t end = block_sizes[0] * block_sizes[1];
  const auto num_values = static_cast<int64_t>(stored.values.size());
  for (int dim = 0; fits && dim < 2; ++dim) {
    const int64_t padded = fields.padded_dims[dim];
    fits = fields.padded_offsets[dim] == 0 && padded >= fields.dims[dim] &&
           padded < fields.dims[dim] + block_sizes[dim] && padded % block_sizes[dim] == 0 &&
           blocks.strides[dim] > 0 && blocks.strides[dim] <= num_values;
    if (!fits) break;
    const int64_t steps = padded / block_sizes[dim] - 1;
    fits = steps == 0 || blocks.strides[dim] <= num_values / steps;
    if (fits) end += steps * blocks.strides[dim];
  }
  if (!fits || layout.get_size() != stored.values.size() ||
      end * static_cast<int64_t>(dnnl::memory::data_type_size(layout.data_type())) > num_values) {
    ThrowWrongLayout(stored);
  }
  return layout;
}

template <typename Value>
std::vector<Value> Values(std::string_view bytes, int64_t count) {
  if (bytes.size() != static_cast<size_t>(count) * sizeof(Value)) {
    throw std::runtime_error("a stored matrix has " + std::to_string(bytes.size()) +
                             " bytes of scales or sums, expected " +
                             std::to_string(static_cast<size_t>(count) * sizeof(Value)));
  }
  std::vector<Value> values(static_cast<size_t>(count));
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename Value>
std::string_view BytesOf(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::string StoredMatrixKind(bool int8) {
  const dnnl_version_t& version = *dnnl_version();
  return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch) +
         (int8
              ? ", int8 from -" + std::to_string(Int8Limit()) + " to " + std::to_string(Int8Limit())
              : "");
}

PackedMatrix PackMatrix(const float* weight, LinearShape shape, MatmulType type,
                        const dnnl::memory::desc& wanted) {
  if (type == MatmulType::kInt8) {
    if (shape.input_dim > kMaxInt8Inputs) {
      throw std::runtime_error("a matmul of " + std::to_string(shape.input_dim) +
                               " inputs cannot be computed in int8, expected at most " +
                               std::to_string(kMaxInt8Inputs));
    }
    return PackInt8(weight, shape, wanted);
  }
  PackedMatrix packed;
  const bool widened = type == MatmulType::kBfloat16 && wanted.data_type() == DataType::f32;
  packed.values = widened ? PackRoundedToBfloat16(weight, shape, wanted)
                          : PackPlain(weight, shape, DataType::f32, wanted);
  return packed;
}

PackedMatrix AdoptMatrix(const StoredMatrix& stored, MatmulType type,
                         const dnnl::memory::desc& wanted) {
  const dnnl::memory::desc layout = LayoutOf(stored);
  const bool int8 = type == MatmulType::kInt8;
  if (int8 != (layout.data_type() == DataType::s8)) {
    throw std::runtime_error("a stored matrix is of another type than the model's precision");
  }
  PackedMatrix packed;
  const int64_t num_scales = int8 ? stored.shape.output_dim : 0;
  packed.scales = Values<float>(stored.scales, num_scales);
  packed.column_sums = Values<int32_t>(stored.column_sums, num_scales);
  dnnl::memory values(layout, Engine(), const_cast<char*>(stored.values.data()));
  if (layout == wanted) {
    packed.values = values;
    packed.owner = stored.owner;
  } else {
    packed.values = Reordered(values, wanted);
  }
  return packed;
}

StoredMatrix StoredFrom(const PackedMatrix& matrix, LinearShape shape) {
  const dnnl_memory_desc_t* layout = nullptr;
  dnnl::error::wrap_c_api(dnnl_memory_get_memory_desc(matrix.values.get(), &layout),
                          "could not describe a matrix");
  return {shape,
          {reinterpret_cast<const char*>(layout), sizeof(*layout)},
          {static_cast<const char*>(matrix.values.get_data_handle()),
           matrix.values.get_desc().get_size()},
          BytesOf(matrix.scales),
          BytesOf(matrix.column_sums),
          nullptr};
}

}  // namespace runnel::kernels
