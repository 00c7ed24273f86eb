// Companding of telephone audio: one byte per sample (ITU-T Recommendation G.711).
#ifndef RUNNEL_TOOLS_CLI_G711_H_
#define RUNNEL_TOOLS_CLI_G711_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace runnel {

// One of the two laws. A byte is a code whose bits are partly inverted on the line. The code has a
// sign (bit 7), a segment (bits 4 to 6) and an interval in it (bits 0 to 3).
class G711Law {
 public:
  // Table 2 of the Recommendation: mu-law, 14 bits. All bits of a byte are inverted.
  static constexpr G711Law Mulaw() {
    G711Law law(0xFF);
    for (int code = 0; code < kNumMagnitudes; ++code) {
      const int segment = code >> 4, interval = code & 15;
      law.magnitudes_[static_cast<size_t>(code)] = (((2 * interval + 33) << segment) - 33) * 4;
    }
    return law;
  }

  // Table 1: A-law, 13 bits. The even bits of a byte are inverted, and 1 is the positive sign.
  static constexpr G711Law Alaw() {
    G711Law law(0xD5);
    for (int code = 0; code < kNumMagnitudes; ++code) {
      const int segment = code >> 4, interval = code & 15;
      law.magnitudes_[static_cast<size_t>(code)] =
          segment == 0 ? (2 * interval + 1) * 8 : ((2 * interval + 33) << (segment - 1)) * 8;
    }
    return law;
  }

  // In [-1, 1], in steps of 16-bit samples.
  constexpr float Decode(uint8_t byte) const {
    const unsigned code = byte ^ inversion_;
    const int magnitude = magnitudes_[code & 0x7FU];
    return static_cast<float>((code & kNegative) != 0 ? -magnitude : magnitude) / kFullScale;
  }

  // The byte whose sample is nearest. Samples out of range are clipped.
  uint8_t Encode(float sample) const {
    const float magnitude = std::abs(sample) * kFullScale;
    const auto* above = std::lower_bound(magnitudes_.begin(), magnitudes_.end() - 1, magnitude);
    if (above != magnitudes_.begin() &&
        magnitude - static_cast<float>(above[-1]) < static_cast<float>(above[0]) - magnitude) {
      --above;
    }
    const auto code = static_cast<unsigned>(above - magnitudes_.begin());
    return static_cast<uint8_t>((code | (sample < 0 ? kNegative : 0)) ^ inversion_);
  }

 private:
  static constexpr int kNumMagnitudes = 128;
  static constexpr unsigned kNegative = 0x80;
  static constexpr float kFullScale = 32768;

  explicit constexpr G711Law(unsigned inversion) : inversion_(inversion) {}

  unsigned inversion_;
  std::array<int, kNumMagnitudes> magnitudes_ = {};  // of code & 0x7F: ascending, of 16 bits
};

inline constexpr G711Law kMulaw = G711Law::Mulaw();
inline constexpr G711Law kAlaw = G711Law::Alaw();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_G711_H_
