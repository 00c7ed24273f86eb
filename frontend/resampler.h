// Streaming sample-rate conversion.
//
// Where it stands: between an audio source at its own rate and the features, which need the
// model's.

#ifndef RUNNEL_FRONTEND_RESAMPLER_H_
#define RUNNEL_FRONTEND_RESAMPLER_H_

#include <cstddef>
#include <memory>
#include <vector>

struct soxr;

namespace runnel {

// Converts one channel by libsoxr at its high quality (20 bits, linear phase; the pass band ends at
// 0.91 of the lower Nyquist frequency). With equal rates samples pass unchanged, without delay.
// The output depends only on the input, bit for bit, not on how it was cut into packets. After
// Flush, n input samples have made round(n * out_rate / in_rate) output samples, aligned with the
// input: the filter's delay is compensated.
//
// Move-only: libsoxr's state cannot be copied. Thread rule: one thread at a time per resampler.
class Resampler {
 public:
  // Throws std::invalid_argument if a rate is not finite and positive, or if libsoxr cannot convert
  // between them.
  Resampler(double in_rate_hz, double out_rate_hz);
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  double in_rate_hz() const { return in_rate_hz_; }
  double out_rate_hz() const { return out_rate_hz_; }

  // Takes `count` samples and appends to `output` those that are ready, none at first: the filter
  // looks ahead by some milliseconds. Throws std::invalid_argument after Flush.
  void Process(const float* samples, std::size_t count, std::vector<float>* output);

  // Ends the input and appends the remaining samples. Calling it again appends nothing.
  void Flush(std::vector<float>* output);

 private:
  struct Deleter {
    void operator()(soxr* resampler) const;
  };

  // Runs libsoxr on `count` samples, or on the end of the input if `samples` is null.
  void Run(const float* samples, std::size_t count, std::vector<float>* output);

  double in_rate_hz_;
  double out_rate_hz_;
  bool flushed_ = false;
  std::unique_ptr<soxr, Deleter> soxr_;  // null: the rates are equal
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_RESAMPLER_H_
