// Decodes samples that have a fixed number of bytes each.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_RAW_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_RAW_SAMPLE_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/server/samples/sample_decoder.h"

namespace runnel::server {

// Every encoding but Opus. The result does not depend on how the bytes are cut into messages: the
// bytes of a partial sample wait for the next message.
class RawSampleDecoder : public SampleDecoder {
 public:
  explicit RawSampleDecoder(SampleEncoding encoding);

  size_t max_part_bytes() const override { return kPartSamples * format_.sample_size; }
  size_t num_waiting_bytes() const override { return num_waiting_; }

 private:
  struct Format {
    size_t sample_size;  // bytes
    void (*decode)(const char* bytes, size_t count, float* samples);
  };
  static Format FormatOf(SampleEncoding encoding);

  // Throws ClientMistake with kBadMessage for a sample that is NaN or beyond kMaxAmplitude.
  std::vector<float> DecodeMessage(std::string_view message) override;
  // Decodes `count` whole samples.
  void Append(const char* bytes, size_t count, std::vector<float>* samples);

  const Format format_;
  std::array<char, 4> waiting_ = {};
  size_t num_waiting_ = 0;
  int64_t num_samples_ = 0;  // decoded so far
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_RAW_SAMPLE_DECODER_H_
