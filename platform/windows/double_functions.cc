// sin and cos of double, in place of the functions of the C library: theirs know 66 bits of pi, so
// that values near 0 are wrong. Tables of FFTs and filters would differ from those of other
// systems.
#include <cmath>

namespace {

struct SinCos {
  long double sin;
  long double cos;
};

SinCos Of(long double x) {
  // pi / 2 in parts; products of the first two with a number of 30 bits are exact.
  constexpr long double kFirst = 0x1.921fb544p+0L;
  constexpr long double kSecond = 0x1.0b4611a6p-34L;
  constexpr long double kThird = 0x1.3198a2e037073p-69L;
  constexpr long double kMostQuarters = 0x1p30L;
  long double quarters = std::rint(x / (kFirst + kSecond));
  if (!(std::fabs(quarters) < kMostQuarters)) quarters = 0;  // a large angle has few correct digits
  const long double rest = ((x - quarters * kFirst) - quarters * kSecond) - quarters * kThird;
  long double sine = 0;
  long double cosine = 0;
  asm("fsincos" : "=t"(cosine), "=u"(sine) : "0"(rest));
  switch (static_cast<long>(quarters) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

extern "C" double sin(double x) { return static_cast<double>(Of(x).sin); }
extern "C" double cos(double x) { return static_cast<double>(Of(x).cos); }

// The compiler calls these where both are asked for.
extern "C" void sincos(double x, double* sine, double* cosine) {
  const SinCos both = Of(x);
  *sine = static_cast<double>(both.sin);
  *cosine = static_cast<double>(both.cos);
}
extern "C" void sincosl(long double x, long double* sine, long double* cosine) {
  const SinCos both = Of(x);
  *sine = both.sin;
  *cosine = both.cos;
}
