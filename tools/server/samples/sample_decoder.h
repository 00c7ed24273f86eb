// Decodes the audio in binary messages.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli/sample_encoding.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// Refuses a file where samples are expected. Many clients send a file, such as a recording of a
// browser, to a stream of samples. Its bytes would be recognised as noise. The watch holds nothing
// back: samples go on while the first bytes may still be those of a file.
class ContainerWatch {
 public:
  // `encoding`: what is expected, for the message.
  explicit ContainerWatch(std::string encoding) : encoding_(std::move(encoding)) {}

  // Looks at the next bytes of the audio. Throws ClientMistake with kBadMessage when those so far
  // begin a file; for WAV, the message has its rate.
  void Look(std::string_view bytes);

 private:
  [[noreturn]] void Refuse(const char* container) const;

  const std::string encoding_;
  std::string begin_;  // the bytes so far, until they tell
  bool is_decided_ = false;
};

// Decodes the messages of one connection. Every sample that it returns is at most
// kMaxAmplitude (frontend/sample_range.h).
class SampleDecoder {
 public:
  explicit SampleDecoder(SampleEncoding encoding) : encoding_(encoding), watch_(NameOf(encoding)) {}
  virtual ~SampleDecoder() = default;
  SampleDecoder(const SampleDecoder&) = delete;
  SampleDecoder& operator=(const SampleDecoder&) = delete;

  SampleEncoding encoding() const { return encoding_; }

  // The rate of the stream, once it is known. Only Opus needs it before Decode.
  virtual void SetSampleRate(int /*rate_hz*/) {}

  // The samples that `message` completes. Throws ClientMistake for a message that is not in the
  // encoding, whose samples are then lost, and when the messages so far are the beginning of a
  // file.
  std::vector<float> Decode(std::string_view message) {
    watch_.Look(message);
    return DecodeMessage(message);
  }

  // How many bytes a caller gives Decode at a time at most, so that a part of a message is some
  // thousand samples. Messages that cannot be cut have no limit.
  virtual size_t max_part_bytes() const { return std::numeric_limits<size_t>::max(); }
  // Whether decoding takes much longer than copying.
  virtual bool is_costly() const { return false; }

  // Bytes of a sample whose other bytes have not come yet.
  virtual size_t num_waiting_bytes() const { return 0; }

 private:
  virtual std::vector<float> DecodeMessage(std::string_view message) = 0;

  const SampleEncoding encoding_;
  ContainerWatch watch_;
};

// Samples of a part of a message: half a second to two seconds at usual rates.
constexpr size_t kPartSamples = 16384;

std::unique_ptr<SampleDecoder> MakeSampleDecoder(SampleEncoding encoding);

// The first part of the audio in `bytes`, and a MoreRequest when there are further parts. Throws
// like SampleDecoder::Decode.
std::vector<ClientRequest> ReadSamples(SampleDecoder* decoder, std::string_view bytes);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_SAMPLE_DECODER_H_
