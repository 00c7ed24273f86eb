// Decodes Opus packets (RFC 6716) with libopus.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_OPUS_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_OPUS_SAMPLE_DECODER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/server/samples/sample_decoder.h"

struct OpusDecoder;  // of libopus

namespace runnel::server {

// Every message is one packet, mono or stereo, and gives up to 120 ms of mono samples at the rate
// of the stream. An empty message stands for a lost packet: it gives as many samples as the packet
// before, made by libopus from that packet, or 20 ms of silence before the first packet.
class OpusSampleDecoder : public SampleDecoder {
 public:
  OpusSampleDecoder();
  ~OpusSampleDecoder() override;

  // Starts a decoder without a history.
  void SetSampleRate(int rate_hz) override;

  bool is_costly() const override { return true; }

 private:
  // Throws ClientMistake: kBadMessage when the message is not an Opus packet, kUnsupportedOrder
  // before SetSampleRate, kBadOption when the rate is not one of kOpusRatesHz.
  std::vector<float> DecodeMessage(std::string_view message) override;

  struct Deleter {
    void operator()(OpusDecoder* decoder) const;
  };

  int rate_hz_ = 0;                                // 0: not known yet
  std::unique_ptr<OpusDecoder, Deleter> decoder_;  // null unless Opus has this rate
  int64_t num_packets_ = 0;                        // decoded so far
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_OPUS_SAMPLE_DECODER_H_
