// Decodes audio that comes as a sequence of bytes, cut into messages anywhere.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_DECODER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// The most bytes of one Decode, unless a decoder says otherwise; a sample has one byte at least.
constexpr size_t kPartBytes = 16384;

// Decodes the audio of one connection to mono: the mean of the channels. Every sample is at
// most kMaxAmplitude (frontend/sample_range.h). Used by one thread at a time.
class MediaDecoder {
 public:
  MediaDecoder() = default;
  virtual ~MediaDecoder() = default;
  MediaDecoder(const MediaDecoder&) = delete;
  MediaDecoder& operator=(const MediaDecoder&) = delete;

  // The samples that `piece` completes. Unless the encoding is Opus packets, the cuts between
  // pieces change nothing. Throws ClientMistake with kBadMessage when the bytes are not in the
  // format; nothing can be decoded after that.
  virtual std::vector<float> Decode(std::string_view piece) = 0;
  // Whether the pieces so far may hold more samples than Decode and Finish have returned, so that
  // they are not all in memory together: an empty piece brings the next ones.
  virtual bool has_more() const { return false; }

  // The first samples that only the end of the audio completes. Called once, when has_more() is
  // false; after it, only empty pieces are decoded, while has_more(). Throws like Decode.
  virtual std::vector<float> Finish() { return {}; }

  // How many bytes a caller gives Decode at a time at most, so that a part of a message is some
  // thousand samples. Messages that cannot be cut have no limit.
  virtual size_t max_part_bytes() const { return kPartBytes; }
  // Whether decoding takes much longer than copying, or may do so.
  virtual bool is_costly() const { return false; }
  // Whether the next call may wait for another process. No process is started before this is true.
  virtual bool uses_process() const { return false; }

  // The rate of the samples, StreamOptions::kMinRate to kMaxRate. 0 until it is known; Decode
  // returns no samples before.
  virtual int sample_rate_hz() const = 0;

  // As AudioSource::Warnings; complete after Finish.
  virtual std::vector<std::string> warnings() const { return {}; }
};

// Most channels of any audio.
constexpr int kMaxChannels = 32;

// A part of a message.
struct MediaPart {
  std::vector<float> samples;
  size_t num_read = 0;    // bytes of the message
  bool has_more = false;  // there are further parts
};

// Decodes the next part of a message, whose bytes `rest` were not read yet.
MediaPart DecodePart(MediaDecoder* decoder, std::string_view rest);

// Appends the requests of the end of the audio: `samples`, which Finish or, while has_more(), a
// later Decode has returned, then a MoreRequest or, when these were the last, a FinishRequest.
// Whether there are more.
bool AppendEnd(const MediaDecoder& decoder, std::vector<float> samples,
               std::vector<ClientRequest>* requests);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_DECODER_H_
