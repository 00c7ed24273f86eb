// The encodings of audio samples in messages between clients and servers.
#ifndef RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_
#define RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_

namespace runnel {

// Both are little-endian. PCM16 is divided by 32768.
enum class SampleEncoding { kPcm16, kFloat32 };

// Bytes of one sample.
inline int SampleSize(SampleEncoding encoding) {
  return encoding == SampleEncoding::kPcm16 ? 2 : 4;
}

// As in docs/protocol.md and --encoding.
inline const char* NameOf(SampleEncoding encoding) {
  return encoding == SampleEncoding::kPcm16 ? "pcm16" : "float32";
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_SAMPLE_ENCODING_H_
