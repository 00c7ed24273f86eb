// Samples out of the bytes of binary messages.
// Flow: socket -> Protocol (this) -> LiveStream -> Protocol -> socket.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLE_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/server/protocol.h"

namespace runnel::server {

// However the bytes are cut into messages, the samples are the same: those of a sample that is cut
// wait for the rest of it.
class SampleDecoder {
 public:
  explicit SampleDecoder(SampleEncoding encoding);

  SampleEncoding encoding() const { return encoding_; }

  // The samples that `bytes` complete. Throws ClientMistake with kBadMessage for a float32 sample
  // that is not a number or beyond kMaxAmplitude; what it had decoded of `bytes` is lost then.
  std::vector<float> Decode(std::string_view bytes);

  // Bytes of a sample that are waiting for the rest of it.
  size_t num_waiting_bytes() const { return num_waiting_; }

 private:
  size_t sample_size() const { return encoding_ == SampleEncoding::kPcm16 ? 2 : 4; }
  // Decodes `count` whole samples.
  void Append(const char* bytes, size_t count, std::vector<float>* samples);

  SampleEncoding encoding_;
  std::array<char, 4> waiting_ = {};
  size_t num_waiting_ = 0;
  int64_t num_samples_ = 0;  // decoded so far
};

// float32 samples go from -1 to 1, with some room for filters that overshoot. What is beyond this
// has another scale, such as that of 16-bit integers, and would be recognised as noise.
constexpr float kMaxAmplitude = 16;

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLE_DECODER_H_
