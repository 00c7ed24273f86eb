#include "tools/server/samples/sample_decoder.h"

#include <algorithm>
#include <cstdint>

#include "frontend/media/container.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/little_endian.h"
#include "tools/server/samples/opus_sample_decoder.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {
namespace {

constexpr size_t kWavFormatAt = 12;
constexpr size_t kWavRateAt = 24;
constexpr size_t kWavRateEnd = 28;

bool IsRiff(std::string_view begin) { return begin.substr(0, 4) == "RIFF"; }

}  // namespace

void ContainerWatch::Refuse(const char* container) const {
  std::string name = container;
  if (IsRiff(begin_) && begin_.compare(kWavFormatAt, 4, "fmt ") == 0) {
    name += " of " +
            std::to_string(FromLittleEndian<uint32_t, uint32_t>(begin_.data() + kWavRateAt)) +
            " Hz";
  }
  throw ClientMistake(ErrorCode::kBadMessage,
                      "the audio is " + name + ", expected " + encoding_ + " without a header");
}

void ContainerWatch::Look(std::string_view bytes) {
  if (is_decided_) return;
  begin_ += bytes;
  const ContainerMatch found = MatchContainer(begin_, kSureMpegFrames);
  if (found.match == Match::kYes && IsRiff(begin_) && begin_.size() < kWavRateEnd) return;
  if (found.match == Match::kYes) Refuse(found.container->name);
  if (found.match == Match::kMaybe) return;
  is_decided_ = true;
  begin_ = std::string();
}

std::unique_ptr<SampleDecoder> MakeSampleDecoder(SampleEncoding encoding) {
  if (encoding == SampleEncoding::kOpus) return std::make_unique<OpusSampleDecoder>();
  return std::make_unique<RawSampleDecoder>(encoding);
}

std::vector<ClientRequest> ReadSamples(SampleDecoder* decoder, std::string_view bytes) {
  const size_t num_read = std::min(bytes.size(), decoder->max_part_bytes());
  std::vector<ClientRequest> requests;
  requests.emplace_back(AudioRequest{decoder->Decode(bytes.substr(0, num_read))});
  if (num_read < bytes.size()) requests.emplace_back(MoreRequest{num_read});
  return requests;
}

}  // namespace runnel::server
