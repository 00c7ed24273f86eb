#include "tools/server/samples/opus_sample_decoder.h"

#include <opus.h>

#include <array>
#include <cstddef>
#include <new>
#include <string>

#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

constexpr int kMaxPacketMs = 120;  // RFC 6716, section 3.2.5, requirement R5
constexpr int kFirstLossMs = 20;
constexpr size_t kMaxSamples = size_t{48} * kMaxPacketMs;

}  // namespace

OpusSampleDecoder::OpusSampleDecoder() : SampleDecoder(SampleEncoding::kOpus) {}
OpusSampleDecoder::~OpusSampleDecoder() = default;

void OpusSampleDecoder::Deleter::operator()(OpusDecoder* decoder) const {
  opus_decoder_destroy(decoder);
}

void OpusSampleDecoder::SetSampleRate(int rate_hz) {
  rate_hz_ = rate_hz;
  num_packets_ = 0;
  decoder_.reset();
  if (!IsOpusRate(rate_hz)) return;
  int error = OPUS_OK;
  decoder_.reset(opus_decoder_create(rate_hz, /*channels=*/1, &error));
  if (error != OPUS_OK) throw std::bad_alloc();  // the only error of valid arguments
}

std::vector<float> OpusSampleDecoder::DecodeMessage(std::string_view message) {
  if (rate_hz_ == 0) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "an Opus packet before ready or resumed");
  }
  if (decoder_ == nullptr) {
    throw ClientMistake(ErrorCode::kBadOption, "the stream's sample rate is " +
                                                   std::to_string(rate_hz_) + ", expected " +
                                                   kOpusRatesText + " with the encoding opus");
  }
  const unsigned char* packet = nullptr;  // a lost one
  int max_samples = rate_hz_ / 1000 * kMaxPacketMs;
  if (!message.empty()) {
    packet = reinterpret_cast<const unsigned char*>(message.data());
  } else {
    opus_decoder_ctl(decoder_.get(), OPUS_GET_LAST_PACKET_DURATION(&max_samples));
    if (max_samples == 0) max_samples = rate_hz_ / 1000 * kFirstLossMs;
  }
  // Samples of 16 bits, because libopus bounds only these, whatever a packet holds.
  std::array<opus_int16, kMaxSamples> decoded;
  const int count = opus_decode(decoder_.get(), packet, static_cast<opus_int32>(message.size()),
                                decoded.data(), max_samples, /*decode_fec=*/0);
  if (count < 0) {
    throw ClientMistake(ErrorCode::kBadMessage, "message " + std::to_string(num_packets_) +
                                                    " of the audio is not an Opus packet (" +
                                                    opus_strerror(count) + ")");
  }
  ++num_packets_;
  std::vector<float> samples(static_cast<size_t>(count));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(decoded[i]) / 32768;
  return samples;
}

}  // namespace runnel::server
