#include "encoder/cpu/kernels/matmul/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "encoder/cpu/kernels/matmul/weight_memory.h"
#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::kernels {
namespace {

// Sums of more products of uint8 and int8 could leave int32.
constexpr int64_t kMaxInt8Inputs = 65536;
constexpr float kMaxInt8 = 127.0f;
// Of a stored matrix, so that its size can be computed.
constexpr int64_t kMaxStoredDim = int64_t{1} << 24;

int64_t NumBytes(LinearShape shape, MatmulType type, WeightFormat format) {
  return NumPanels(shape.output_dim) * PackedPanelBytes(shape.input_dim, type, format);
}

// Between the rows of a panel, so that they do not fall in the same sets of the cache.
constexpr int64_t kGapBytes = 64;

// Writes a panel, group by group. rows: kPanelOutputs, each of `padded_bytes` in the form that a
// matmul multiplies, `padded_bytes` + kGapBytes apart.
void StorePanel(const uint8_t* rows, int64_t padded_bytes, uint8_t* to) {
  for (int64_t byte = 0; byte < padded_bytes; byte += kGroupBytes) {
    const uint8_t* group = rows + byte;
    for (int64_t n = 0; n < kPanelOutputs; ++n) {
      std::memcpy(to, group, kGroupBytes);
      group += padded_bytes + kGapBytes;
      to += kGroupBytes;
    }
  }
}

struct Int8Row {
  float scale;
  int32_t sum;
};

float ScaleOf(const float* weight, int64_t count) {
  float largest = 0.0f;
  for (int64_t k = 0; k < count; ++k) largest = std::max(largest, std::abs(weight[k]));
  return largest > 0.0f ? largest / kMaxInt8 : 1.0f;
}

Int8Row Quantize(const float* weight, int64_t count, int8_t* to) {
  Int8Row row{ScaleOf(weight, count), 0};
  for (int64_t k = 0; k < count; ++k) {
    to[k] = static_cast<int8_t>(std::nearbyint(weight[k] / row.scale));
    row.sum += to[k];
  }
  return row;
}

// Writes the panels, and the scales and sums of the outputs.
void StoreFourBitPanels(const float* weight, LinearShape shape, const ErrorFeedback* feedback,
                        uint8_t* to, PackedMatrix* packed) {
  const int64_t num_groups = PackedRowBytes(shape.input_dim, MatmulType::kInt8) / kFourBitInputs;
  std::vector<float> row(static_cast<size_t>(num_groups * kFourBitInputs), 0.0f);
  std::vector<FourBitGroup> groups(static_cast<size_t>(kPanelOutputs * num_groups));
  for (int64_t first = 0; first < shape.output_dim; first += kPanelOutputs) {
    std::fill(groups.begin(), groups.end(), FourBitGroup{});
    for (int64_t n = first; n < std::min(first + kPanelOutputs, shape.output_dim); ++n) {
      const float* from = weight + n * shape.input_dim;
      const float scale = ScaleOf(from, shape.input_dim);
      for (int64_t k = 0; k < shape.input_dim; ++k) row[static_cast<size_t>(k)] = from[k] / scale;
      FourBitGroup* row_groups = &groups[static_cast<size_t>((n - first) * num_groups)];
      if (feedback != nullptr) {
        RoundToFourBits(*feedback, row, row_groups);
      } else {
        for (int64_t g = 0; g < num_groups; ++g) {
          row_groups[g] = RoundToFourBits(row.data() + g * kFourBitInputs);
        }
      }
      int32_t sum = 0;
      for (int64_t k = 0; k < shape.input_dim; ++k) {
        sum += row_groups[k / kFourBitInputs].Weight(k % kFourBitInputs);
      }
      packed->scales[static_cast<size_t>(n)] = scale;
      packed->column_sums[static_cast<size_t>(n)] = sum;
    }
    StoreFourBitPanel(groups.data(), num_groups, to);
    to += num_groups * kFourBitBlockBytes;
  }
}

template <typename Value>
std::vector<Value> Values(std::string_view bytes, int64_t count, Value filling) {
  if (bytes.size() != static_cast<size_t>(count) * sizeof(Value)) {
    throw std::runtime_error("has " + std::to_string(bytes.size()) +
                             " bytes of scales or sums, expected " +
                             std::to_string(static_cast<size_t>(count) * sizeof(Value)));
  }
  std::vector<Value> values(static_cast<size_t>(NumPanels(count) * kPanelOutputs), filling);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename Value>
std::string_view BytesOf(const std::vector<Value>& values, int64_t count) {
  if (values.empty()) return {};
  return {reinterpret_cast<const char*>(values.data()), static_cast<size_t>(count) * sizeof(Value)};
}

}  // namespace

PackedMatrix PackMatrix(const float* weight, LinearShape shape, MatmulType type,
                        WeightFormat format, const ErrorFeedback* feedback) {
  const bool int8 = type == MatmulType::kInt8;
  if (int8 && shape.input_dim > kMaxInt8Inputs) {
    throw std::runtime_error("a matmul of " + std::to_string(shape.input_dim) +
                             " inputs cannot be computed in int8, expected at most " +
                             std::to_string(kMaxInt8Inputs));
  }
  const std::shared_ptr<uint8_t> values = TakeWeightMemory(NumBytes(shape, type, format));
  const int64_t num_bytes = shape.input_dim * ValueBytes(type);
  const int64_t padded_bytes = PackedRowBytes(shape.input_dim, type);
  PackedMatrix packed;
  packed.format = format;
  if (int8) {
    const auto num_outputs = static_cast<size_t>(NumPanels(shape.output_dim) * kPanelOutputs);
    packed.scales.assign(num_outputs, 1.0f);
    packed.column_sums.assign(num_outputs, 0);
  }
  if (format == WeightFormat::kFourBits) {
    StoreFourBitPanels(weight, shape, feedback, values.get(), &packed);
    packed.values = values.get();
    packed.owner = values;
    return packed;
  }
  const int64_t row_bytes = padded_bytes + kGapBytes;
  std::vector<uint8_t> rows(static_cast<size_t>(kPanelOutputs * row_bytes), 0);
  for (int64_t first = 0; first < shape.output_dim; first += kPanelOutputs) {
    const int64_t count = std::min(kPanelOutputs, shape.output_dim - first);
    if (count < kPanelOutputs) std::fill(rows.begin(), rows.end(), 0);
    for (int64_t n = first; n < first + count; ++n) {
      const float* from = weight + n * shape.input_dim;
      uint8_t* row = rows.data() + (n - first) * row_bytes;
      switch (type) {
        case MatmulType::kFloat32:
          std::memcpy(row, from, static_cast<size_t>(num_bytes));
          break;
        case MatmulType::kBfloat16:
          RoundToBfloat16(from, shape.input_dim, reinterpret_cast<uint16_t*>(row));
          break;
        case MatmulType::kInt8: {
          const Int8Row quantized = Quantize(from, shape.input_dim, reinterpret_cast<int8_t*>(row));
          packed.scales[static_cast<size_t>(n)] = quantized.scale;
          packed.column_sums[static_cast<size_t>(n)] = quantized.sum;
          break;
        }
      }
    }
    StorePanel(rows.data(), padded_bytes, values.get() + first * padded_bytes);
  }
  packed.values = values.get();
  packed.owner = values;
  return packed;
}

PackedMatrix AdoptMatrix(const StoredMatrix& stored, MatmulType type) {
  const int64_t max_inputs = type == MatmulType::kInt8 ? kMaxInt8Inputs : kMaxStoredDim;
  if (stored.shape.input_dim > max_inputs || stored.shape.output_dim > kMaxStoredDim) {
    throw std::runtime_error("is of " + std::to_string(stored.shape.input_dim) + " by " +
                             std::to_string(stored.shape.output_dim) + ", expected at most " +
                             std::to_string(max_inputs) + " by " + std::to_string(kMaxStoredDim));
  }
  if (stored.format == WeightFormat::kFourBits && type != MatmulType::kInt8) {
    throw std::runtime_error("has weights of four bits, expected them in int8 matmuls only");
  }
  const int64_t num_bytes = NumBytes(stored.shape, type, stored.format);
  if (static_cast<int64_t>(stored.values.size()) != num_bytes) {
    throw std::runtime_error("has " + std::to_string(stored.values.size()) +
                             " bytes of weights, expected " + std::to_string(num_bytes));
  }
  if (stored.format == WeightFormat::kFourBits &&
      !HasFourBitScales(reinterpret_cast<const uint8_t*>(stored.values.data()),
                        num_bytes / kFourBitBlockBytes)) {
    throw std::runtime_error("has a scale of weights of four bits above 17, expected less");
  }
  const int64_t num_scales = type == MatmulType::kInt8 ? stored.shape.output_dim : 0;
  PackedMatrix packed;
  packed.format = stored.format;
  packed.scales = Values<float>(stored.scales, num_scales, 1.0f);
  packed.column_sums = Values<int32_t>(stored.column_sums, num_scales, 0);
  packed.values = reinterpret_cast<const uint8_t*>(stored.values.data());
  packed.owner = stored.owner;
  return packed;
}

std::vector<float> UnpackMatrix(const StoredMatrix& stored, MatmulType type) {
  const PackedMatrix packed = AdoptMatrix(stored, type);
  const auto [input_dim, output_dim] = stored.shape;
  const int64_t panel_bytes = PackedPanelBytes(input_dim, type, packed.format);
  std::vector<float> weight(static_cast<size_t>(output_dim * input_dim));
  for (int64_t n = 0; n < output_dim; ++n) {
    const uint8_t* panel = packed.values + n / kPanelOutputs * panel_bytes;
    const int64_t output = n % kPanelOutputs;
    float* row = &weight[static_cast<size_t>(n * input_dim)];
    const auto value_at = [&](int64_t k) {
      const int64_t byte = k * ValueBytes(type);
      return panel + (byte / kGroupBytes * kPanelOutputs + output) * kGroupBytes +
             byte % kGroupBytes;
    };
    switch (type) {
      case MatmulType::kFloat32:
        for (int64_t k = 0; k < input_dim; ++k) std::memcpy(row + k, value_at(k), sizeof(float));
        break;
      case MatmulType::kBfloat16:
        for (int64_t k = 0; k < input_dim; ++k) {
          WidenBfloat16(reinterpret_cast<const uint16_t*>(value_at(k)), 1, row + k);
        }
        break;
      case MatmulType::kInt8:
        for (int64_t k = 0; k < input_dim; ++k) {
          const int8_t value = packed.format == WeightFormat::kFourBits
                                   ? FourBitWeight(panel, output, k)
                                   : static_cast<int8_t>(*value_at(k));
          row[k] = static_cast<float>(value) * packed.scales[static_cast<size_t>(n)];
        }
        break;
    }
  }
  return weight;
}

StoredMatrix StoredFrom(const PackedMatrix& matrix, LinearShape shape, MatmulType type) {
  return {shape,
          matrix.format,
          {reinterpret_cast<const char*>(matrix.values),
           static_cast<size_t>(NumBytes(shape, type, matrix.format))},
          BytesOf(matrix.scales, shape.output_dim),
          BytesOf(matrix.column_sums, shape.output_dim),
          nullptr};
}

}  // namespace runnel::kernels
