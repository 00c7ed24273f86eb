#include "tools/server/samples/sample_decoder.h"

#include "tools/server/samples/opus_sample_decoder.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {

std::unique_ptr<SampleDecoder> MakeSampleDecoder(SampleEncoding encoding) {
  if (encoding == SampleEncoding::kOpus) return std::make_unique<OpusSampleDecoder>();
  return std::make_unique<RawSampleDecoder>(encoding);
}

}  // namespace runnel::server
