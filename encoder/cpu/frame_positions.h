// Position rows of absolute frames, W_pos PE(frame), on the kernels.
#ifndef RUNNEL_ENCODER_CPU_FRAME_POSITIONS_H_
#define RUNNEL_ENCODER_CPU_FRAME_POSITIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/layer_state.h"
#include "encoder/position/linear_pos.h"

namespace runnel::cpu {

// Sinusoids of frame numbers, within 1e-6. A frame number is a sum of hexadecimal digits times
// powers of 16, whose sines and cosines are computed once. Immutable: all layers and threads share
// one.
class FrameSinusoids {
 public:
  // dim: d of Sinusoids.
  explicit FrameSinusoids(int64_t dim);

  int64_t dim() const { return 2 * num_frequencies_; }

  // rows: (frames.end - frames.begin, dim): all sines of the number frame * step, then all
  // cosines. A row depends on its number only.
  void Fill(FrameRange frames, int64_t step, float* rows) const;

 private:
  static constexpr int kDigitBits = 4;
  static constexpr int64_t kNumDigits = 16;

  // Of digit * 16^place: (dim).
  const float* Digit(int64_t place, int64_t digit) const;
  // Of `number` * 16^place, number >= 0.
  void Combine(int64_t number, int64_t place, float* row) const;

  int64_t num_frequencies_;
  std::vector<float> digits_;  // (kNumDigits, 16, dim)
};

// One layer's projection of the sinusoids. Immutable.
class FramePositions {
 public:
  // Multiplies as `type`.
  FramePositions(std::shared_ptr<const FrameSinusoids> sinusoids, const LinearPos& linear_pos,
                 kernels::MatmulType type);

  // (total rows of the segments, d), of the frames of all segments. A row has the same bits
  // whatever other rows there are. Valid while `scratch` lives.
  const float* Rows(const std::vector<Segment>& segments, int64_t num_rows,
                    kernels::Scratch* scratch) const;

 private:
  std::shared_ptr<const FrameSinusoids> sinusoids_;
  kernels::MatmulType type_;
  kernels::PackedLinear linear_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_FRAME_POSITIONS_H_
