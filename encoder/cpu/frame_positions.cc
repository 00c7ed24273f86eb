#include "encoder/cpu/frame_positions.h"

#include <algorithm>
#include <utility>

#include "encoder/cpu/kernels/attention/position_kernels.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/encoder_weights.h"
#include "encoder/position/sinusoids.h"

namespace runnel::cpu {
namespace {

// PE holds sine and cosine of each frequency in turn. Here the columns of all sines come first.
kernels::PackedLinear PackSinesFirst(const LinearPos& linear_pos, kernels::MatmulType type) {
  const int64_t dim = linear_pos.weight().size(0);
  const Tensor sines_first = Transposed(linear_pos.weight().Reshaped({dim, dim / 2, 2}));
  const std::vector<float> bias = Float32Values(linear_pos.bias());
  return {sines_first.float32(),
          bias.empty() ? nullptr : bias.data(),
          {dim, dim},
          type,
          kernels::MatmulOutput::kStore};
}

}  // namespace

FrameSinusoids::FrameSinusoids(int64_t dim)
    : num_frequencies_(dim / 2), digits_(static_cast<size_t>((kNumDigits << kDigitBits) * dim)) {
  const Sinusoids sinusoids(dim);
  float* row = digits_.data();
  for (int64_t place = 0; place < kNumDigits; ++place) {
    for (int64_t digit = 0; digit < 1 << kDigitBits; ++digit, row += dim) {
      // The highest digit of an int64 is at most 7.
      if (place == kNumDigits - 1 && digit > 7) continue;
      const int64_t frame = digit << (place * kDigitBits);
      const Matrix values = sinusoids.Rows(frame, frame);
      const double* from = values.rows().float64();
      for (int64_t m = 0; m < num_frequencies_; ++m) {
        row[m] = static_cast<float>(from[2 * m]);
        row[num_frequencies_ + m] = static_cast<float>(from[2 * m + 1]);
      }
    }
  }
}

const float* FrameSinusoids::Digit(int64_t place, int64_t digit) const {
  return digits_.data() + ((place << kDigitBits) + digit) * dim();
}

void FrameSinusoids::Combine(int64_t number, int64_t place, float* row) const {
  constexpr int64_t kMask = (1 << kDigitBits) - 1;
  const float* lowest = Digit(place, number & kMask);
  std::copy(lowest, lowest + dim(), row);
  for (number >>= kDigitBits, ++place; number > 0; number >>= kDigitBits, ++place) {
    kernels::AddAngles(row, Digit(place, number & kMask), num_frequencies_, row);
  }
}

void FrameSinusoids::Fill(FrameRange frames, int64_t step, float* rows) const {
  kernels::Scratch scratch;
  auto* high = scratch.Take<float>(dim());  // of all digits but the lowest
  int64_t high_number = -1;
  for (int64_t frame = frames.begin; frame < frames.end; ++frame, rows += dim()) {
    const int64_t number = frame * step;
    if (number >> kDigitBits != high_number) {
      high_number = number >> kDigitBits;
      Combine(high_number, 1, high);
    }
    const int64_t digit = number - (high_number << kDigitBits);
    kernels::AddAngles(high, Digit(0, digit), num_frequencies_, rows);
  }
}

FramePositions::FramePositions(std::shared_ptr<const FrameSinusoids> sinusoids,
                               const LinearPos& linear_pos, kernels::MatmulType type)
    : sinusoids_(std::move(sinusoids)), type_(type), linear_(PackSinesFirst(linear_pos, type)) {}

const float* FramePositions::Rows(const std::vector<Segment>& segments, int64_t num_rows,
                                  kernels::Scratch* scratch) const {
  const int64_t dim = sinusoids_->dim();
  auto* positions = scratch->Take<float>(num_rows * dim);
  kernels::Scratch pieces;
  auto* sinusoids = pieces.Take<float>(num_rows * dim);
  for (const Segment& segment : segments) {
    sinusoids_->Fill(segment.frames, segment.frame_step, sinusoids + segment.first_row * dim);
  }
  const kernels::MatmulInput input = kernels::MatmulInput::Take(&pieces, type_, num_rows, dim);
  kernels::StoreRows(sinusoids, num_rows, input);
  linear_.Forward(input, num_rows, positions);
  return positions;
}

}  // namespace runnel::cpu
