#include "tools/server/samples/sample_decoder.h"

#include <algorithm>

#include "tools/server/samples/opus_sample_decoder.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {

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
