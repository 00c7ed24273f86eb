// The encodings of audio in messages between clients and servers (docs/protocol.md).
#ifndef RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_
#define RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_

#include <array>

namespace runnel {

enum class SampleEncoding {
  kPcm16,    // little-endian, divided by 32768
  kFloat32,  // little-endian
  kMulaw,    // G.711, one byte per sample
  kAlaw,     // G.711, one byte per sample
  kOpus,     // every message is a packet of RFC 6716
};

constexpr std::array kSampleEncodings = {SampleEncoding::kPcm16, SampleEncoding::kFloat32,
                                         SampleEncoding::kMulaw, SampleEncoding::kAlaw,
                                         SampleEncoding::kOpus};

// As in docs/protocol.md and --encoding.
constexpr const char* NameOf(SampleEncoding encoding) {
  constexpr std::array kNames = {"pcm16", "float32", "mulaw", "alaw", "opus"};
  return kNames[static_cast<unsigned>(encoding)];
}

// The rates at which Opus decoders and encoders work, ascending (RFC 6716, section 2).
constexpr std::array kOpusRatesHz = {8000, 12000, 16000, 24000, 48000};
constexpr char kOpusRatesText[] = "8000, 12000, 16000, 24000 or 48000";

constexpr bool IsOpusRate(int rate_hz) {
  for (const int rate : kOpusRatesHz) {
    if (rate == rate_hz) return true;
  }
  return false;
}

// The lowest of these rates that keeps the whole band of audio at `rate_hz`, or the highest.
constexpr int OpusRateFor(int rate_hz) {
  for (const int rate : kOpusRatesHz) {
    if (rate >= rate_hz) return rate;
  }
  return kOpusRatesHz.back();
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_
