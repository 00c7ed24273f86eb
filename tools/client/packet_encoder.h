// Cuts a recording into the binary messages of a connection.
#ifndef RUNNEL_TOOLS_CLIENT_PACKET_ENCODER_H_
#define RUNNEL_TOOLS_CLIENT_PACKET_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/cli/sample_encoding.h"
#include "tools/client/audio_track.h"

namespace runnel::client {

// Duration of the Opus packets.
constexpr double kOpusPacketMs = 20;

struct AudioPacket {
  std::string bytes;
  int64_t num_samples = 0;  // 0: there is none
};

// One object per connection: an Opus packet depends on those before it.
class PacketEncoder {
 public:
  // `track` must outlive the encoder. `packet_samples`: of a packet, at least 1.
  PacketEncoder(const AudioTrack* track, int64_t packet_samples);
  virtual ~PacketEncoder() = default;
  PacketEncoder(const PacketEncoder&) = delete;
  PacketEncoder& operator=(const PacketEncoder&) = delete;

  // The packet that begins with sample `first`, of samples before `end`, which is at most
  // num_samples(). `first` is where the last packet ended; the first packet begins anywhere.
  virtual AudioPacket Next(int64_t first, int64_t end) = 0;

  // Samples to be sent: those of the track so far and, once it is complete, silence that brings the
  // last of them out of the server's decoder.
  int64_t num_samples() const;

  int64_t packet_samples() const { return packet_samples_; }

 protected:
  const AudioTrack& track() const { return track_; }

 private:
  virtual int64_t delay_samples() const { return 0; }

  const AudioTrack& track_;
  const int64_t packet_samples_;
};

// `packet_ms` is kOpusPacketMs for Opus, whose track has one of kOpusRatesHz.
std::unique_ptr<PacketEncoder> MakePacketEncoder(SampleEncoding encoding, const AudioTrack* track,
                                                 double packet_ms);

// Encodes samples in [-1, 1] in any encoding but Opus. Those of pcm16, mulaw and alaw are rounded
// and clipped, which restores the samples of recordings in the same encoding.
std::string EncodeSamples(const float* samples, int64_t count, SampleEncoding encoding);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_PACKET_ENCODER_H_
