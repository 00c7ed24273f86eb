#include "tools/server/samples/ogg_opus_decoder.h"

#include <ogg/ogg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "tools/cli/sample_encoding.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/little_endian.h"

namespace runnel::server {
namespace {

constexpr int kGranuleRateHz = 48000;  // RFC 7845, section 4
constexpr size_t kHeadSize = 19;       // of the mapping family 0
constexpr std::string_view kHeadMagic = "OpusHead";
constexpr size_t kHeadAt = 28;     // in a file: behind a page's header and the length of one packet
constexpr size_t kMappingAt = 18;  // in the head
constexpr std::string_view kTagsMagic = "OpusTags";
// A packet of Opus is smaller. Tags may hold a picture.
constexpr int64_t kMaxPacketBytes = 1 << 20;
// libogg gets a piece in parts, so that it does not keep a copy of a large one.
constexpr size_t kPageBytes = 4096;

[[noreturn]] void FailOgg(const std::string& problem) {
  throw ClientMistake(ErrorCode::kBadMessage, "the Ogg Opus audio: " + problem);
}

bool BeginsWith(std::string_view packet, std::string_view magic) {
  return packet.substr(0, magic.size()) == magic;
}

}  // namespace

struct OggOpusDecoder::Pages {
  Pages() {
    ogg_sync_init(&sync);
    if (ogg_stream_init(&stream, /*serialno=*/0) != 0) throw std::bad_alloc();
  }
  ~Pages() {
    ogg_stream_clear(&stream);
    ogg_sync_clear(&sync);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ogg_sync_state sync;
  ogg_stream_state stream;
};

bool OggOpusDecoder::Begins(std::string_view file) {
  return BeginsWith(file, kMagic) && BeginsWith(file.substr(kHeadAt), kHeadMagic) &&
         file[kHeadAt + kMappingAt] != 1;
}

OggOpusDecoder::OggOpusDecoder() : pages_(std::make_unique<Pages>()) {}
OggOpusDecoder::~OggOpusDecoder() = default;

std::vector<float> OggOpusDecoder::Decode(std::string_view piece) {
  rest_ += piece;
  std::string_view rest = rest_;
  std::vector<float> samples;
  while (ReadPackets(&samples)) {
    if (ReadPage()) continue;
    if (rest.empty()) break;
    const size_t size = std::min(rest.size(), kPageBytes);
    char* const buffer = ogg_sync_buffer(&pages_->sync, static_cast<long>(size));
    if (buffer == nullptr) throw std::bad_alloc();
    std::memcpy(buffer, rest.data(), size);
    ogg_sync_wrote(&pages_->sync, static_cast<long>(size));
    rest.remove_prefix(size);
  }
  rest_ = std::string(rest);
  has_more_ = has_packets_;
  return samples;
}

bool OggOpusDecoder::ReadPage() {
  ogg_stream_state& stream = pages_->stream;
  ogg_page page;
  for (;;) {
    const int found = ogg_sync_pageout(&pages_->sync, &page);
    if (found == 0) return false;
    // The connection loses nothing, so the client has sent something else.
    if (found < 0) FailOgg("bytes that are no Ogg page, or a damaged one");
    // All streams that run beside each other begin before the second page of any (RFC 3533, section
    // 4): the first page of a stream after that is of the next in a chain.
    if (ogg_page_bos(&page) != 0 && expected_ != Expected::kTags) {
      ogg_stream_reset_serialno(&stream, ogg_page_serialno(&page));
      expected_ = Expected::kHead;
    }
    if (expected_ == Expected::kStream) continue;          // a page of a stream that has ended
    if (ogg_stream_pagein(&stream, &page) != 0) continue;  // of another stream
    has_packets_ = true;
    is_last_page_ = ogg_page_eos(&page) != 0;
    end_granule_ = ogg_page_granulepos(&page);
    return true;
  }
}

bool OggOpusDecoder::ReadPackets(std::vector<float>* samples) {
  if (!has_packets_) return true;
  ogg_packet packet;
  while (samples->size() < kMostSamples) {
    if (!WriteSilence(samples)) continue;
    const int result = ogg_stream_packetout(&pages_->stream, &packet);
    if (result == 0) {
      EndPage();
      return true;
    }
    if (result < 0) continue;  // pages are missing before this one
    const std::string_view bytes(reinterpret_cast<const char*>(packet.packet),
                                 static_cast<size_t>(packet.bytes));
    if (expected_ == Expected::kHead) {
      OnHead(bytes);
    } else if (expected_ == Expected::kTags) {
      if (!BeginsWith(bytes, kTagsMagic)) FailOgg("expected OpusTags in the second packet");
      expected_ = Expected::kAudio;
    } else {
      OnAudio(bytes, samples);
    }
  }
  return false;
}

// The end of the audio is no packet, so a gap before it is none.
bool OggOpusDecoder::WriteSilence(std::vector<float>* samples) {
  const bool is_needed =
      expected_ == Expected::kAudio && (next_time_.has_value() || num_silent_ > 0);
  if (!is_needed || ogg_stream_packetpeek(&pages_->stream, nullptr) <= 0) return true;
  if (next_time_.has_value()) {
    try {
      num_silent_ = clock_->SilenceBefore(*next_time_, num_samples_);
    } catch (const std::runtime_error& error) {
      FailOgg(error.what());
    }
    next_time_.reset();
  }
  const auto room = static_cast<int64_t>(kMostSamples - samples->size());
  const int64_t count = std::min(num_silent_, room);
  samples->resize(samples->size() + static_cast<size_t>(count));
  num_samples_ += count;
  num_silent_ -= count;
  return num_silent_ == 0;
}

void OggOpusDecoder::EndPage() {
  const ogg_stream_state& stream = pages_->stream;
  if (stream.body_fill - stream.body_returned > kMaxPacketBytes) {
    FailOgg("a packet of more than " + std::to_string(kMaxPacketBytes) + " bytes");
  }
  if (expected_ == Expected::kAudio && end_granule_ > 0) next_time_ = TimeOf(end_granule_);
  if (is_last_page_) expected_ = Expected::kStream;
  has_packets_ = false;
}

// RFC 7845, section 5.1.
void OggOpusDecoder::OnHead(std::string_view packet) {
  if (!BeginsWith(packet, kHeadMagic)) {
    FailOgg("the stream is not Opus, expected OpusHead in the first packet");
  }
  if (packet.size() < kHeadSize) FailOgg("a header of " + std::to_string(packet.size()) + " bytes");
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(packet[i]); };
  if (byte_at(8) >= 16) FailOgg("version " + std::to_string(byte_at(8)) + ", expected 1");
  const int channels = byte_at(9);
  const int mapping = byte_at(kMappingAt);
  if (mapping != 0 || channels < 1 || channels > 2) {
    FailOgg(std::to_string(channels) + " channels with mapping family " + std::to_string(mapping) +
            ", expected mono or stereo with family 0");
  }
  pre_skip_ = FromLittleEndian<uint16_t, uint16_t>(packet.data() + 10);
  const auto recorded_hz = FromLittleEndian<uint32_t, uint32_t>(packet.data() + 12);
  const auto gain_db = FromLittleEndian<int16_t, uint16_t>(packet.data() + 16) / 256.0;
  gain_ = static_cast<float>(std::pow(10.0, gain_db / 20));
  if (rate_hz_ == 0) {
    const bool is_known = recorded_hz > 0 && recorded_hz <= uint32_t{kGranuleRateHz};
    rate_hz_ = is_known ? OpusRateFor(static_cast<int>(recorded_hz)) : kGranuleRateHz;
  }
  packets_.SetSampleRate(rate_hz_);
  num_to_skip_ = pre_skip_ * rate_hz_ / kGranuleRateHz;
  num_samples_ = 0;
  clock_.emplace(rate_hz_, std::nullopt, /*may_begin_anew=*/true, kMostLiveSilenceS);
  next_time_.reset();
  num_silent_ = 0;
  expected_ = Expected::kTags;
}

void OggOpusDecoder::OnAudio(std::string_view packet, std::vector<float>* samples) {
  const std::vector<float> decoded = packets_.Decode(packet);
  const auto skipped = std::min(num_to_skip_, static_cast<int64_t>(decoded.size()));
  num_to_skip_ -= skipped;
  const int64_t num_left = static_cast<int64_t>(decoded.size()) - skipped;
  const auto begin = decoded.begin() + skipped;
  const int64_t num_wanted = std::clamp(EndSample() - num_samples_, int64_t{0}, num_left);
  for (auto sample = begin; sample != begin + num_wanted; ++sample) {
    samples->push_back(std::clamp(*sample * gain_, -1.0F, 1.0F));
  }
  num_samples_ += num_left;
}

// RFC 7845, section 4.4: the granule of the last page may be before the end of its packets. A
// stream that was recorded from its middle on has a larger one than it has samples.
int64_t OggOpusDecoder::EndSample() const {
  const bool has_end = is_last_page_ && end_granule_ >= 0;  // -1: no packet ends on the page
  if (!has_end) return std::numeric_limits<int64_t>::max();
  return TimeOf(end_granule_) - clock_->TimeAfter(0);
}

int64_t OggOpusDecoder::TimeOf(int64_t granule) const {
  return (granule - pre_skip_) / (kGranuleRateHz / rate_hz_);
}

std::vector<std::string> OggOpusDecoder::warnings() const {
  return clock_.has_value() ? clock_->Warnings() : std::vector<std::string>{};
}

}  // namespace runnel::server
