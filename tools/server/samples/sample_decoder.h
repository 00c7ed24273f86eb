// Decodes the audio in binary messages.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/cli/sample_encoding.h"

namespace runnel::server {

// Decodes the messages of one connection. Every sample that it returns is finite and at most
// kMaxAmplitude.
class SampleDecoder {
 public:
  explicit SampleDecoder(SampleEncoding encoding) : encoding_(encoding) {}
  virtual ~SampleDecoder() = default;
  SampleDecoder(const SampleDecoder&) = delete;
  SampleDecoder& operator=(const SampleDecoder&) = delete;

  SampleEncoding encoding() const { return encoding_; }

  // The rate of the stream, once it is known. Only Opus needs it before Decode.
  virtual void SetSampleRate(int /*rate_hz*/) {}

  // The samples that `message` completes. Throws ClientMistake for a message that is not in the
  // encoding; its samples are then lost.
  virtual std::vector<float> Decode(std::string_view message) = 0;

  // Bytes of a sample whose other bytes have not come yet.
  virtual size_t num_waiting_bytes() const { return 0; }

 private:
  const SampleEncoding encoding_;
};

std::unique_ptr<SampleDecoder> MakeSampleDecoder(SampleEncoding encoding);

// The largest float32 sample. Samples are from -1 to 1, and filters overshoot a little. A larger
// sample has another scale, such as that of 16-bit integers, and would be recognised as noise.
constexpr float kMaxAmplitude = 16;

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_
