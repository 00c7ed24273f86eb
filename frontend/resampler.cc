#include "frontend/resampler.h"

#include <soxr.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

// Room made for libsoxr's output at a time, samples.
constexpr std::size_t kOutputBlock = 4096;

void CheckRate(const char* name, double rate_hz) {
  if (rate_hz > 0.0 && std::isfinite(rate_hz)) return;
  std::ostringstream message;
  message << "Resampler: " << name << " is " << rate_hz << " Hz, expected a finite value > 0";
  throw std::invalid_argument(message.str());
}

}  // namespace

Resampler::Resampler(double in_rate_hz, double out_rate_hz)
    : in_rate_hz_(in_rate_hz), out_rate_hz_(out_rate_hz) {
  CheckRate("in_rate_hz", in_rate_hz);
  CheckRate("out_rate_hz", out_rate_hz);
  if (in_rate_hz == out_rate_hz) return;
  const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);  // threads
  soxr_error_t error = nullptr;
  soxr_.reset(soxr_create(in_rate_hz, out_rate_hz, 1, &error, &io, &quality, &runtime));
  if (soxr_ == nullptr || error != nullptr) {
    std::ostringstream message;
    message << "Resampler: libsoxr cannot convert " << in_rate_hz << " Hz to " << out_rate_hz
            << " Hz: " << soxr_strerror(error);
    throw std::invalid_argument(message.str());
  }
}

Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

void Resampler::Deleter::operator()(soxr* resampler) const { soxr_delete(resampler); }

void Resampler::Process(const float* samples, std::size_t count, std::vector<float>* output) {
  if (flushed_) throw std::invalid_argument("Resampler: samples after Flush");
  if (count == 0) return;
  if (soxr_ == nullptr) {
    output->insert(output->end(), samples, samples + count);
  } else {
    Run(samples, count, output);
  }
}

void Resampler::Flush(std::vector<float>* output) {
  if (!flushed_ && soxr_ != nullptr) Run(nullptr, 0, output);
  flushed_ = true;
}

void Resampler::Run(const float* samples, std::size_t count, std::vector<float>* output) {
  std::size_t done = kOutputBlock;
  while (count > 0 || done == kOutputBlock) {
    const std::size_t old_size = output->size();
    output->resize(old_size + kOutputBlock);
    std::size_t used = 0;
    const soxr_error_t error = soxr_process(soxr_.get(), samples, count, &used,
                                            output->data() + old_size, kOutputBlock, &done);
    output->resize(old_size + done);
    if (error != nullptr) {
      throw std::runtime_error(std::string("Resampler: libsoxr failed: ") + error);
    }
    if (samples != nullptr) samples += used;
    count -= used;
  }
}

}  // namespace runnel
