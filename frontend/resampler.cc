#include "frontend/resampler.h"

#include <soxr.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

// Room made for libsoxr's output at a time, samples.
constexpr size_t kOutputSpace = 4096;

// Input taken at a time, samples: bounds what is held, however large the packets are.
constexpr size_t kInputPiece = 4096;

// A block's length. Longer: more memory; shorter: the margin before each costs more time.
constexpr double kBlockSeconds = 0.5;

// How much earlier than its block a converter begins, in samples of the lower rate. The filter
// reaches some 100 back.
constexpr int64_t kMarginSamples = 512;

void CheckRate(const char* name, int rate_hz) {
  if (rate_hz > 0) return;
  throw std::invalid_argument(std::string("Resampler: ") + name + " is " + std::to_string(rate_hz) +
                              " Hz, expected at least 1");
}

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void Resampler::Converter::Deleter::operator()(soxr* converter) const { soxr_delete(converter); }

void Resampler::Converter::Start(int in_rate_hz, int out_rate_hz, int64_t next_output) {
  const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);  // threads
  soxr_error_t error = nullptr;
  soxr_.reset(soxr_create(in_rate_hz, out_rate_hz, 1, &error, &io, &quality, &runtime));
  if (soxr_ == nullptr || error != nullptr) {
    throw std::invalid_argument("Resampler: libsoxr cannot convert " + std::to_string(in_rate_hz) +
                                " Hz to " + std::to_string(out_rate_hz) +
                                " Hz: " + soxr_strerror(error));
  }
  num_fed_ = 0;
  next_output_ = next_output;
}

void Resampler::Converter::Run(const std::vector<float>& held, bool ends, int64_t begin,
                               int64_t end, std::vector<float>* output) {
  Convert(held.data() + num_fed_, held.size() - num_fed_, &begin, end, output);
  num_fed_ = held.size();
  if (ends && begin < end) Convert(nullptr, 0, &begin, end, output);
}

void Resampler::Converter::Convert(const float* samples, size_t count, int64_t* begin, int64_t end,
                                   std::vector<float>* output) {
  size_t done = kOutputSpace;
  while (*begin < end && (count > 0 || done == kOutputSpace)) {
    const size_t old_size = output->size();
    output->resize(old_size + kOutputSpace);
    size_t used = 0;
    const soxr_error_t error = soxr_process(soxr_.get(), samples, count, &used,
                                            output->data() + old_size, kOutputSpace, &done);
    if (error != nullptr) {
      output->resize(old_size);
      throw std::runtime_error(std::string("Resampler: libsoxr failed: ") + error);
    }
    if (samples != nullptr) samples += used;
    count -= used;
    const auto made = static_cast<int64_t>(done);
    const int64_t early = std::min(made, *begin - next_output_);
    const int64_t wanted = std::min(made - early, end - *begin);
    const auto first = output->begin() + static_cast<std::ptrdiff_t>(old_size);
    std::copy(first + early, first + early + wanted, first);
    output->resize(old_size + static_cast<size_t>(wanted));
    *begin += wanted;
    next_output_ += made;
  }
}

Resampler::Resampler(int in_rate_hz, int out_rate_hz)
    : in_rate_hz_(in_rate_hz), out_rate_hz_(out_rate_hz) {
  CheckRate("in_rate_hz", in_rate_hz);
  CheckRate("out_rate_hz", out_rate_hz);
  const int64_t divisor = std::gcd(in_rate_hz, out_rate_hz);
  in_period_ = in_rate_hz / divisor;
  out_period_ = out_rate_hz / divisor;
  block_periods_ = DivideUp(static_cast<int64_t>(kBlockSeconds * in_rate_hz), in_period_);
  block_periods_ = std::max<int64_t>(1, block_periods_);
  margin_periods_ = DivideUp(kMarginSamples, std::min(in_period_, out_period_));
  if (converts()) converter_.Start(in_rate_hz, out_rate_hz, 0);
}

int64_t Resampler::FirstHeld(int64_t block) const {
  return std::max<int64_t>(0, block * block_periods_ - margin_periods_) * in_period_;
}

int64_t Resampler::MinInputFor(int64_t num_out) const {
  if (num_out <= 0) return 0;
  // What stands at or before the time of the last of them; the filter is symmetric.
  const int64_t last = num_out - 1;
  return last / out_period_ * in_period_ + last % out_period_ * in_period_ / out_period_ + 1;
}

void Resampler::Process(const float* samples, size_t count, std::vector<float>* output) {
  if (flushed_) throw std::invalid_argument("Resampler: samples after Flush");
  if (!converts()) {
    output->insert(output->end(), samples, samples + count);
    num_in_ += static_cast<int64_t>(count);
    num_out_ = num_in_;
    return;
  }
  while (count > 0) {
    const size_t piece = std::min(count, kInputPiece);
    held_.insert(held_.end(), samples, samples + piece);
    num_in_ += static_cast<int64_t>(piece);
    Run(false, output);
    samples += piece;
    count -= piece;
  }
}

void Resampler::Flush(std::vector<float>* output) {
  if (flushed_) return;
  flushed_ = true;
  if (!converts()) return;
  Run(true, output);
  held_ = {};
  converter_.Stop();
}

std::string Resampler::Restored() {
  converter_.Stop();
  const int64_t all =
      num_in_ / in_period_ * out_period_ + DivideUp(num_in_ % in_period_ * out_period_, in_period_);
  if (num_out_ > all) {
    return "number of resampled samples is " + std::to_string(num_out_) + "; expected 0 to " +
           std::to_string(all);
  }
  block_ = num_out_ / (block_periods_ * out_period_);
  const bool holds = converts() && !flushed_;
  const int64_t num_held = holds ? num_in_ - FirstHeld(block_) : 0;
  if (static_cast<int64_t>(held_.size()) != num_held) {
    return "the resampler keeps " + std::to_string(held_.size()) + " samples; expected " +
           std::to_string(num_held);
  }
  const auto is_finite = [](float sample) { return std::isfinite(sample); };
  return std::all_of(held_.begin(), held_.end(), is_finite)
             ? ""
             : "samples that the resampler keeps are not finite";
}

void Resampler::Run(bool ends, std::vector<float>* output) {
  while (!held_.empty()) {
    if (!converter_.started()) {
      converter_.Start(in_rate_hz_, out_rate_hz_, FirstHeld(block_) / in_period_ * out_period_);
    }
    const int64_t block_end = (block_ + 1) * block_periods_ * out_period_;
    const size_t old_size = output->size();
    converter_.Run(held_, ends, num_out_, block_end, output);
    num_out_ += static_cast<int64_t>(output->size() - old_size);
    if (num_out_ < block_end) return;
    const int64_t dropped = FirstHeld(block_ + 1) - FirstHeld(block_);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(dropped));
    ++block_;
    converter_.Stop();
  }
}

}  // namespace runnel
