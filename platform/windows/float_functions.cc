// logf, sinf and cosf with the values of glibc, in place of the functions of the C library. Those
// differ in the last bit for some values. That changes mel filters and the filters of resampling,
// and with them features and scores.
//
// The polynomials and the table are those of Arm's Optimized Routines (math/logf.c and
// math/sincosf.h), which glibc has too.
// Copyright (c) 2017-2018, Arm Limited. SPDX-License-Identifier: MIT, whose text is in
// tools/deploy/debian/copyright.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace {

// Of 16 parts of [0x1.66p-1, 0x1.66p0), with c near the middle of each.
struct Part {
  double inverse;  // 1 / c
  double log;      // log(c)
};
constexpr Part kParts[16] = {
    {0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2}, {0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2},
    {0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2},  {0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3},
    {0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3}, {0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3},
    {0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4}, {0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4},
    {0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5}, {0x1p+0, 0x0p+0},
    {0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5},  {0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4},
    {0x1.b2036576afce6p-1, 0x1.526e57720db08p-3},  {0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3},
    {0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2},  {0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2}};
constexpr double kLog2 = 0x1.62e42fefa39efp-1;

uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float WithBits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Exponent and the first 3 bits behind the point, by which both functions choose a way.
uint32_t TopBits(float value) { return BitsOf(value) >> 20 & 0x7FF; }

struct SinCos {
  float sin;
  float cos;
};

SinCos SinCosOf(float angle) {
  constexpr float kTiny = 0x1p-12F;
  constexpr float kPiQuarter = 0x1.921FB6p-1F;
  constexpr float kLarge = 120;
  constexpr double kPiHalf = 0x1.921FB54442D18p0;
  constexpr double kQuadrants = 0x1.45F306DC9C883p+23;  // 2 / pi, times 2^24
  if (TopBits(angle) < TopBits(kTiny)) return {angle, 1};
  if (TopBits(angle) >= TopBits(kLarge)) {
    return {static_cast<float>(sin(double{angle})), static_cast<float>(cos(double{angle}))};
  }
  double x = angle;
  int quadrant = 0;
  if (TopBits(angle) >= TopBits(kPiQuarter)) {
    quadrant = (static_cast<int32_t>(x * kQuadrants) + 0x800000) >> 24;
    x -= quadrant * kPiHalf;
  }
  const double x2 = x * x;
  if ((quadrant & 3) == 1 || (quadrant & 3) == 2) x = -x;
  const double sign = (quadrant & 2) != 0 ? -1 : 1;  // of the cosine

  const double x3 = x2 * x;
  const double sine = (x + x3 * -0x1.555545995a603p-3) +
                      x3 * x2 * (0x1.1107605230bc4p-7 + x2 * -0x1.994eb3774cf24p-13);
  const double x4 = x2 * x2;
  const double cosine =
      (sign + x2 * (sign * -0x1.ffffffd0c621cp-2) + x4 * (sign * 0x1.55553e1068f19p-5)) +
      x4 * x2 * (sign * -0x1.6c087e89a359dp-10 + x2 * (sign * 0x1.99343027bf8c3p-16));
  SinCos both = {static_cast<float>(sine), static_cast<float>(cosine)};
  if ((quadrant & 1) != 0) std::swap(both.sin, both.cos);
  return both;
}

}  // namespace

extern "C" float sinf(float x) { return SinCosOf(x).sin; }
extern "C" float cosf(float x) { return SinCosOf(x).cos; }
// The compiler calls it where both are asked for.
extern "C" void sincosf(float x, float* sine, float* cosine) {
  const SinCos both = SinCosOf(x);
  *sine = both.sin;
  *cosine = both.cos;
}

extern "C" float logf(float x) {
  constexpr uint32_t kOne = 0x3F800000;
  constexpr uint32_t kSmallestNormal = 0x00800000;
  constexpr uint32_t kInfinity = 0x7F800000;
  constexpr uint32_t kBegin = 0x3F330000;  // of the parts
  constexpr uint32_t kExponent = 0xFF800000;
  uint32_t bits = BitsOf(x);
  if (bits == kOne) return 0;
  if (bits < kSmallestNormal || bits >= kInfinity) {
    if (x == 0) return -std::numeric_limits<float>::infinity();
    if (bits == kInfinity) return x;
    if (bits > kInfinity) return std::numeric_limits<float>::quiet_NaN();
    bits = BitsOf(x * 0x1p23F) - (uint32_t{23} << 23);  // subnormal
  }
  // x is 2^exponent * z, with z in one of the parts.
  const uint32_t offset = bits - kBegin;
  const Part& part = kParts[(offset >> 19) % 16];
  const int32_t exponent = static_cast<int32_t>(offset) >> 23;
  const double z = WithBits(bits - (offset & kExponent));
  const double r = z * part.inverse - 1;
  const double sum = part.log + exponent * kLog2;
  const double square = r * r;
  double y = 0x1.5575b0be00b6ap-2 * r + -0x1.ffffef20a4123p-2;
  y = -0x1.00ea348b88334p-2 * square + y;
  return static_cast<float>(y * square + (sum + r));
}
