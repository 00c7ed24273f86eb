#include "frontend/features/mel_energies.h"

#include <cmath>
#include <utility>

namespace runnel {

MelEnergies::MelEnergies(int fft_size, MelFilters filters, bool use_power)
    : fft_size_(static_cast<size_t>(fft_size)),
      power_spectrum_(fft_size),
      filters_(std::move(filters)),
      use_power_(use_power) {}

void MelEnergies::Prepare(FrameScratch* scratch) const {
  if (scratch->window_.size() == fft_size_) return;
  scratch->window_.assign(fft_size_, 0.0F);
  scratch->work_.assign(fft_size_, 0.0F);
  scratch->power_.assign(fft_size_ / 2 + MelFilters::kGroup - 1, 0.0F);
}

float* MelEnergies::Window(FrameScratch* scratch) const {
  Prepare(scratch);
  return scratch->window_.data();
}

float* MelEnergies::Spare(FrameScratch* scratch) const {
  Prepare(scratch);
  return scratch->work_.data();
}

void MelEnergies::Compute(FrameScratch* scratch, float* mel) const {
  float* const power = scratch->power_.data();
  power_spectrum_.Compute(scratch->window_.data(), scratch->work_.data(), power);
  if (!use_power_) {
    for (size_t k = 0; k < fft_size_ / 2; ++k) power[k] = std::sqrt(power[k]);
  }
  filters_.Apply(power, mel);
}

}  // namespace runnel
