// Streaming sample-rate conversion of one channel.
#ifndef RUNNEL_FRONTEND_RESAMPLER_H_
#define RUNNEL_FRONTEND_RESAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct soxr;

namespace runnel {

// Uses libsoxr at its high quality (20 bits, linear phase; the pass band ends at 0.91 of the lower
// Nyquist frequency). With equal rates samples pass unchanged and without delay. The output depends
// only on the input, bit for bit, not on packet sizes. After Flush, n input samples have become
// round(n * out_rate / in_rate) output samples, aligned with the input: the filter's delay is
// compensated.
//
// A value: a copy continues independently, with the same output. libsoxr's state can be neither
// copied nor saved. So the input is cut into blocks of about half a second, where an input and an
// output sample coincide. Each block has its own converter, which starts so many samples before the
// block that the filter's memory is filled. The state is then the input samples from there on:
// about 0.6 seconds, up to 2 for rates without a common divisor.
//
// One thread at a time per resampler.
class Resampler {
 public:
  // Upper bound of the filter's gain. The magnitudes of its taps add up to about 5.
  static constexpr float kMaxGain = 16.0F;

  // Throws std::invalid_argument if a rate is not positive, or if libsoxr cannot convert between
  // them.
  Resampler(int in_rate_hz, int out_rate_hz);

  int in_rate_hz() const { return in_rate_hz_; }
  int out_rate_hz() const { return out_rate_hz_; }

  // Takes `count` samples and appends to `output` those that are ready. At first none are, because
  // the filter looks ahead by some milliseconds. Throws std::invalid_argument after Flush.
  void Process(const float* samples, size_t count, std::vector<float>* output);

  // Ends the input and appends the remaining samples. Calling it again appends nothing.
  void Flush(std::vector<float>* output);

  int64_t num_in() const { return num_in_; }    // samples taken so far
  int64_t num_out() const { return num_out_; }  // samples appended so far

  bool flushed() const { return flushed_; }
  // The input samples that later output needs.
  const std::vector<float>& held() const { return held_; }

  // The least num_in() at which num_out() can be `num_out` without Flush. The look-ahead of the
  // filter may need more.
  int64_t MinInputFor(int64_t num_out) const;

  // The state, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.num_in_);
    fields.Counter(self.num_out_);
    fields.Value(self.flushed_);
    fields.Values(self.held_);
    if constexpr (Fields::kReading) fields.Check(self.Restored());
  }

 private:
  // libsoxr's converter of the current block. It holds no state that cannot be computed from the
  // other members: a copy starts without one and makes it when samples come.
  class Converter {
   public:
    Converter() = default;
    ~Converter() = default;
    Converter(const Converter& /*other*/) {}
    Converter& operator=(const Converter& /*other*/) {
      soxr_.reset();
      return *this;
    }
    Converter(Converter&&) = default;
    Converter& operator=(Converter&&) = default;

    // Starts at output sample `next_output`, without input.
    void Start(int in_rate_hz, int out_rate_hz, int64_t next_output);
    void Stop() { soxr_.reset(); }
    bool started() const { return soxr_ != nullptr; }

    // Converts the samples of `held` that it has not converted yet; `ends`: they end the input.
    // Appends those of the output samples begin ... end-1 that are ready.
    void Run(const std::vector<float>& held, bool ends, int64_t begin, int64_t end,
             std::vector<float>* output);

   private:
    struct Deleter {
      void operator()(soxr* converter) const;
    };
    // `samples` null: the end of the input. Adds the number of appended samples to `begin`.
    void Convert(const float* samples, size_t count, int64_t* begin, int64_t end,
                 std::vector<float>* output);

    std::unique_ptr<soxr, Deleter> soxr_;
    size_t num_fed_ = 0;  // of `held`
    int64_t next_output_ = 0;
  };

  bool converts() const { return in_rate_hz_ != out_rate_hz_; }
  // The input sample at which the converter of a block starts.
  int64_t FirstHeld(int64_t block) const;
  // Computes the state that is not saved; returns what is wrong with a restored one, "" if nothing.
  std::string Restored();
  // Converts the samples in held_, through as many blocks as they fill.
  void Run(bool ends, std::vector<float>* output);

  int in_rate_hz_;
  int out_rate_hz_;
  // Input and output samples from one coincidence to the next; the sizes below are multiples.
  int64_t in_period_;
  int64_t out_period_;
  int64_t block_periods_;
  int64_t margin_periods_;

  int64_t num_in_ = 0;
  int64_t num_out_ = 0;
  bool flushed_ = false;
  int64_t block_ = 0;        // of the next output sample
  std::vector<float> held_;  // the input from FirstHeld(block_) on; empty when the rates are equal
  Converter converter_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_RESAMPLER_H_
