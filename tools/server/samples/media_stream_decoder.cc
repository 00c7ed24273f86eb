#include "tools/server/samples/media_stream_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "frontend/sample_range.h"
#include "runtime/stream.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

bool IsBounded(float sample) { return std::abs(sample) <= kMaxAmplitude; }

}  // namespace

MediaStreamDecoder::MediaStreamDecoder(const Container& container) : container_(container) {}

void MediaStreamDecoder::Fail(const std::string& problem) const {
  throw ClientMistake(ErrorCode::kBadMessage,
                      std::string("the audio is ") + container_.name + " and " + problem);
}

template <typename Function>
void MediaStreamDecoder::Guard(const Function& use) {
  try {
    if (process_ == nullptr) process_ = MediaProcess::OfStream(container_.demuxer);
    use();
  } catch (const std::runtime_error& error) {
    Fail(error.what());
  }
}

void MediaStreamDecoder::CheckFormat() {
  const int rate_hz = process_->format().rate_hz;
  if (rate_hz_ > 0 || rate_hz == 0) return;
  if (rate_hz < StreamOptions::kMinRate || rate_hz > StreamOptions::kMaxRate) {
    Fail("has a rate of " + std::to_string(rate_hz) + " Hz, expected " +
         std::to_string(StreamOptions::kMinRate) + " to " +
         std::to_string(StreamOptions::kMaxRate));
  }
  rate_hz_ = rate_hz;
}

bool MediaStreamDecoder::ReadSamples(std::vector<float>* samples) {
  const size_t begin = samples->size();
  samples->resize(kMostSamples);
  size_t count = 0;
  Guard([&] { count = process_->Read(samples->data() + begin, kMostSamples - begin); });
  samples->resize(begin + count);
  CheckFormat();
  const auto bad = std::find_if_not(samples->begin(), samples->end(), IsBounded);
  if (bad != samples->end()) {
    Fail("has the sample " + std::to_string(*bad) + ", expected a number from -1 to 1");
  }
  return samples->size() == kMostSamples;
}

std::vector<float> MediaStreamDecoder::Decode(std::string_view piece) {
  rest_ += piece;
  std::vector<float> samples;
  // The caller learns that it needs a process before it waits for one.
  if (process_ == nullptr && !std::exchange(has_more_, true)) return samples;
  while (!(has_more_ = ReadSamples(&samples))) {
    if (rest_.empty()) break;
    if (process_->has_ended()) Fail("has bytes behind its end");
    const size_t size = std::min(rest_.size(), kMaxMediaRequestBytes);
    Guard([&] { process_->Give(std::string_view(rest_).substr(0, size)); });
    rest_.erase(0, size);
  }
  return samples;
}

std::vector<float> MediaStreamDecoder::Finish() {
  std::vector<float> samples;
  if (process_ == nullptr || process_->has_ended()) return samples;
  Guard([&] { process_->Give({}); });
  has_more_ = ReadSamples(&samples);
  return samples;
}

std::vector<std::string> MediaStreamDecoder::warnings() const {
  if (process_ == nullptr) return {};
  std::vector<std::string> warnings = process_->warnings();
  for (std::string& warning : warnings) warning.insert(0, "the audio: ");
  return warnings;
}

}  // namespace runnel::server
