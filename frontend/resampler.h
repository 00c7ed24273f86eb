// Streaming sample-rate conversion.
//
// Where it stands: between samples at a rate of their own and the features, which need the model's;
// in streams (runtime/stream.h) and audio sources (audio_source.h) alike.

#ifndef RUNNEL_FRONTEND_RESAMPLER_H_
#define RUNNEL_FRONTEND_RESAMPLER_H_

#include <cstddef>
#include <cstdint>
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
// A value: a copy continues on its own, with the same output. libsoxr's state can be neither copied
// nor saved, so the input is cut into blocks of about half a second at places where an input and an
// output sample coincide. Each block is made by a converter of its own, which begins early enough
// before it that the filter does not notice. What must be remembered are then the input samples
// from there on: some 0.6 seconds, up to 2 where the rates have no common divisor.
//
// Thread rule: one thread at a time per resampler.
class Resampler {
 public:
  // Throws std::invalid_argument if a rate is not positive, or if libsoxr cannot convert between
  // them.
  Resampler(int in_rate_hz, int out_rate_hz);

  int in_rate_hz() const { return in_rate_hz_; }
  int out_rate_hz() const { return out_rate_hz_; }

  // Takes `count` samples and appends to `output` those that are ready, none at first: the filter
  // looks ahead by some milliseconds. Throws std::invalid_argument after Flush.
  void Process(const float* samples, std::size_t count, std::vector<float>* output);

  // Ends the input and appends the remaining samples. Calling it again appends nothing.
  void Flush(std::vector<float>* output);

  std::int64_t num_in() const { return num_in_; }    // samples taken so far
  std::int64_t num_out() const { return num_out_; }  // samples appended so far

  bool flushed() const { return flushed_; }
  // The last input samples, which are needed again.
  const std::vector<float>& held() const { return held_; }

  // The fewest samples that must be taken in all before `num_out` can have been appended without
  // Flush; it may take those more that the filter looks ahead.
  std::int64_t MinInputFor(std::int64_t num_out) const;

  // All that it remembers, for the snapshot of a stream (runtime/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.num_in_);
    fields.Value(self.num_out_);
    fields.Value(self.flushed_);
    fields.Values(self.held_);
    if constexpr (Fields::kReading) fields.Check(self.Restored());
  }

 private:
  // libsoxr at work on the block. It carries nothing that the rest does not say: a copy has none,
  // and makes its own when samples come.
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

    // At the sample `next_output` of the output, having been fed nothing.
    void Start(int in_rate_hz, int out_rate_hz, std::int64_t next_output);
    void Stop() { soxr_.reset(); }
    bool started() const { return soxr_ != nullptr; }

    // Converts the samples it was not fed yet of `held`, and where `ends` is set the end of the
    // input. Appends the samples begin ... end-1 of the output, as far as they are ready.
    void Run(const std::vector<float>& held, bool ends, std::int64_t begin, std::int64_t end,
             std::vector<float>* output);

   private:
    struct Deleter {
      void operator()(soxr* converter) const;
    };
    // `samples` null: the end of the input. Moves `begin` by what it appends.
    void Convert(const float* samples, std::size_t count, std::int64_t* begin, std::int64_t end,
                 std::vector<float>* output);

    std::unique_ptr<soxr, Deleter> soxr_;
    std::size_t num_fed_ = 0;  // of the samples held
    std::int64_t next_output_ = 0;
  };

  bool converts() const { return in_rate_hz_ != out_rate_hz_; }
  // Where the converter of a block begins, in input samples.
  std::int64_t FirstHeld(std::int64_t block) const;
  // Completes what was restored; what is wrong with it, or null.
  const char* Restored();
  // Converts what is held, through as many blocks as it fills.
  void Run(bool ends, std::vector<float>* output);

  int in_rate_hz_;
  int out_rate_hz_;
  // Input and output samples between two places where they coincide; the sizes below are multiples.
  std::int64_t in_period_;
  std::int64_t out_period_;
  std::int64_t block_periods_;
  std::int64_t margin_periods_;

  std::int64_t num_in_ = 0;
  std::int64_t num_out_ = 0;
  bool flushed_ = false;
  std::int64_t block_ = 0;   // in which the next output sample lies
  std::vector<float> held_;  // the input from FirstHeld(block_) on; not where the rates are equal
  Converter converter_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_RESAMPLER_H_
