#include "frontend/features/power_spectrum.h"

#include <kiss_fft.h>

#include <cmath>
#include <new>
#include <type_traits>

namespace runnel {

static_assert(std::is_same_v<kiss_fft_scalar, float>, "KISS FFT must be the float library");

PowerSpectrum::PowerSpectrum(int fft_size)
    : num_pairs_(static_cast<size_t>(fft_size / 2)),
      plan_(kiss_fft_alloc(fft_size / 2, 0, nullptr, nullptr)) {
  if (plan_ == nullptr) throw std::bad_alloc();
  const double two_pi = 2.0 * std::acos(-1.0);
  for (size_t k = 0; k <= num_pairs_ / 2; ++k) {
    const double phase = two_pi * static_cast<double>(k) / static_cast<double>(fft_size);
    cos_.push_back(static_cast<float>(std::cos(phase)));
    sin_.push_back(static_cast<float>(std::sin(phase)));
  }
}

PowerSpectrum::~PowerSpectrum() = default;

void PowerSpectrum::PlanDeleter::operator()(kiss_fft_state* plan) const { kiss_fft_free(plan); }

void PowerSpectrum::Compute(const float* samples, float* work, float* power) const {
  // Sample pairs as complex numbers: even samples real, odd samples imaginary.
  auto* const z = reinterpret_cast<kiss_fft_cpx*>(work);
  kiss_fft(plan_.get(), reinterpret_cast<const kiss_fft_cpx*>(samples), z);

  // With Z the spectrum of the pairs and m their number, the even samples' spectrum is
  // E[k] = (Z[k] + conj Z[m-k]) / 2, the odd samples' O[k] = (Z[k] - conj Z[m-k]) / 2i, and the
  // signal's is X[k] = E[k] + exp(-2 pi i k / 2m) O[k]; also X[m-k] = conj(E[k] - exp(..) O[k]).
  // Below, e and o are 2E and 2O exp(..); the factor 4 of the power is taken out at the end.
  power[0] = (z[0].r + z[0].i) * (z[0].r + z[0].i);
  for (size_t k = 1; k <= num_pairs_ / 2; ++k) {
    const kiss_fft_cpx a = z[k];
    const kiss_fft_cpx b = z[num_pairs_ - k];
    const float e_r = a.r + b.r;
    const float e_i = a.i - b.i;
    const float d_r = a.i + b.i;
    const float d_i = b.r - a.r;
    const float o_r = d_r * cos_[k] + d_i * sin_[k];
    const float o_i = d_i * cos_[k] - d_r * sin_[k];
    power[k] = 0.25F * ((e_r + o_r) * (e_r + o_r) + (e_i + o_i) * (e_i + o_i));
    power[num_pairs_ - k] = 0.25F * ((e_r - o_r) * (e_r - o_r) + (e_i - o_i) * (e_i - o_i));
  }
}

}  // namespace runnel
