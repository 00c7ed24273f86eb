// Decodes the samples in the bytes of binary messages.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_SAMPLE_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/cli/sample_encoding.h"

namespace runnel::server {

// The result does not depend on how the bytes are cut into messages: the bytes of a partial sample
// wait for the next message.
class SampleDecoder {
 public:
  explicit SampleDecoder(SampleEncoding encoding);

  SampleEncoding encoding() const { return encoding_; }

  // The samples that `bytes` complete. Throws ClientMistake with kBadMessage for a float32 sample
  // that is NaN or beyond kMaxAmplitude; the samples of `bytes` are then lost.
  std::vector<float> Decode(std::string_view bytes);

  // The bytes of a partial sample.
  size_t num_waiting_bytes() const { return num_waiting_; }

 private:
  size_t sample_size() const { return static_cast<size_t>(SampleSize(encoding_)); }
  // Decodes `count` whole samples.
  void Append(const char* bytes, size_t count, std::vector<float>* samples);

  SampleEncoding encoding_;
  std::array<char, 4> waiting_ = {};
  size_t num_waiting_ = 0;
  int64_t num_samples_ = 0;  // decoded so far
};

// The largest float32 sample. Samples are from -1 to 1, and filters overshoot a little. A larger
// sample has another scale, such as that of 16-bit integers, and would be recognised as noise.
constexpr float kMaxAmplitude = 16;

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_SAMPLE_DECODER_H_
