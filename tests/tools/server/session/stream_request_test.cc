#include "tools/server/session/stream_request.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

int CompletedRate(SampleEncoding encoding, int requested_hz, int model_hz) {
  StartRequest request;
  request.encoding = encoding;
  request.options.sample_rate_hz = requested_hz;
  StreamOptions defaults;
  defaults.sample_rate_hz = model_hz;
  return CompleteOptions(request, defaults, {}).sample_rate_hz;
}

TEST(StreamRequest, AnOpusStreamWithoutARateKeepsTheBandOfTheModel) {
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 8000), 8000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 16000), 16000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 22050), 24000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 44100), 48000);
}

TEST(StreamRequest, OtherRatesAreTheClientsOrLeftToTheModel) {
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 8000, 16000), 8000);
  for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kMulaw}) {
    EXPECT_EQ(CompletedRate(encoding, 0, 22050), 0);
    EXPECT_EQ(CompletedRate(encoding, 11025, 16000), 11025);
  }
}

}  // namespace
}  // namespace runnel::server
