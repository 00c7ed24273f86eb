#include "frontend/audio_source.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "frontend/resampler.h"

namespace runnel {
namespace {

constexpr size_t kMaxBlock = 4096;  // samples

}  // namespace

AudioSource::AudioSource(const std::string& path, int rate_hz, const AudioReaderOptions& options)
    : AudioSource(AudioReader(path, options), rate_hz) {}

AudioSource::AudioSource(AudioReader reader, int rate_hz)
    : reader_(std::move(reader)),
      resampler_(std::make_unique<Resampler>(reader_.sample_rate_hz(), rate_hz)) {}

AudioSource::~AudioSource() = default;
AudioSource::AudioSource(AudioSource&&) noexcept = default;
AudioSource& AudioSource::operator=(AudioSource&&) noexcept = default;

int AudioSource::rate_hz() const { return resampler_->out_rate_hz(); }

size_t AudioSource::Read(float* samples, size_t max_samples) {
  size_t done = 0;
  while (done < max_samples) {
    if (waiting_head_ == waiting_.size()) {
      if (input_ended_) break;
      waiting_.clear();
      waiting_head_ = 0;
      if (resampler_->in_rate_hz() == resampler_->out_rate_hz()) {
        const size_t count = reader_.Read(samples + done, max_samples - done);
        input_samples_ += count;
        done += count;
        break;
      }
      // A live input blocks until the samples arrive, so ask for no more than needed.
      const double needed =
          std::ceil(static_cast<double>(max_samples - done) *
                    static_cast<double>(resampler_->in_rate_hz()) / resampler_->out_rate_hz());
      const size_t size = needed < kMaxBlock ? static_cast<size_t>(needed) : kMaxBlock;
      block_.resize(size);
      const size_t count = reader_.Read(block_.data(), size);
      input_samples_ += count;
      resampler_->Process(block_.data(), count, &waiting_);
      if (count < size) {
        input_ended_ = true;
        resampler_->Flush(&waiting_);
      }
      continue;
    }
    const size_t count = std::min(max_samples - done, waiting_.size() - waiting_head_);
    std::copy_n(waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_), count,
                samples + done);
    waiting_head_ += count;
    done += count;
  }
  return done;
}

bool AudioSource::EndsWithin(double seconds) {
  if (reader_.is_live()) return false;
  std::vector<float> ahead;
  bool ended = false;
  while (!ended && seconds_read() <= seconds) {
    const size_t size = ahead.size();
    ahead.resize(size + kMaxBlock);
    const size_t count = Read(ahead.data() + size, kMaxBlock);
    ahead.resize(size + count);
    ended = count < kMaxBlock;
  }
  ahead.insert(ahead.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_),
               waiting_.end());
  waiting_ = std::move(ahead);
  waiting_head_ = 0;
  return ended && seconds_read() <= seconds;
}

std::optional<double> AudioSource::duration_s() const {
  const std::optional<int64_t> num_samples = reader_.num_samples();
  if (!num_samples.has_value()) return std::nullopt;
  return static_cast<double>(*num_samples) / reader_.sample_rate_hz();
}

std::optional<double> AudioSource::announced_s() const {
  const std::optional<int64_t> announced = reader_.announced_samples();
  if (!announced.has_value()) return std::nullopt;
  return static_cast<double>(*announced) / reader_.sample_rate_hz();
}

double AudioSource::seconds_read() const {
  return static_cast<double>(input_samples_) / reader_.sample_rate_hz();
}

std::vector<std::string> AudioSource::Warnings() const {
  std::vector<std::string> warnings = reader_.warnings();
  if (std::string length = LengthWarning(); !length.empty()) warnings.push_back(std::move(length));
  for (std::string& warning : warnings) warning.insert(0, reader_.name() + ": ");
  return warnings;
}

std::string AudioSource::LengthWarning() const {
  const double announced = announced_s().value_or(0);
  if (announced <= seconds_read()) return input_samples_ > 0 ? "" : "has no samples";
  // Enough digits to see the difference.
  const int digits = announced - seconds_read() < 0.01 ? 6 : 2;
  char text[128];
  std::snprintf(text, sizeof(text), "ends after %.*f s, its header announces %.*f s", digits,
                seconds_read(), digits, announced);
  return text;
}

}  // namespace runnel
