// Audio in pieces: the first byte of the input chooses the decoder, the second the size of pieces.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/sample_range.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/without_media.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sample_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"

namespace runnel::server {
namespace {

using fuzz::Require;

std::unique_ptr<MediaDecoder> MakeDecoder(uint8_t kind) {
  if (kind % 3 == 0) return std::make_unique<SniffingDecoder>(nullptr);
  auto raw = std::make_unique<RawMediaDecoder>(SampleEncoding::kPcm16, 8000, kind % 3);
  return std::make_unique<SniffingDecoder>(std::move(raw));
}

// Empty when the bytes are refused.
std::optional<std::vector<float>> DecodePieces(MediaDecoder* decoder, std::string_view bytes,
                                               size_t size) {
  std::vector<float> all;
  try {
    while (!bytes.empty() || decoder->has_more()) {
      const std::vector<float> samples = decoder->Decode(bytes.substr(0, size));
      bytes.remove_prefix(std::min(size, bytes.size()));
      const int rate_hz = decoder->sample_rate_hz();
      Require(rate_hz == 0 || (rate_hz >= 1000 && rate_hz <= 768000), "a rate");
      Require(rate_hz > 0 || samples.empty(), "samples have a rate");
      all.insert(all.end(), samples.begin(), samples.end());
    }
    for (std::vector<float> last = decoder->Finish();; last = decoder->Decode({})) {
      all.insert(all.end(), last.begin(), last.end());
      if (!decoder->has_more()) break;
    }
  } catch (const ClientMistake& mistake) {
    Require(mistake.what()[0] != '\0', "an error says what is wrong");
    return std::nullopt;
  }
  for (const float sample : all) Require(std::abs(sample) <= kMaxAmplitude, "sound samples");
  return all;
}

}  // namespace
}  // namespace runnel::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using runnel::server::DecodePieces;
  if (size < 2) return 0;
  runnel::fuzz::DecodeWithoutMedia();
  const runnel::fuzz::WorkBound work;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const auto whole = DecodePieces(runnel::server::MakeDecoder(data[0]).get(), bytes, bytes.size());
  const auto cut =
      DecodePieces(runnel::server::MakeDecoder(data[0]).get(), bytes, size_t{1} + data[1]);
  runnel::fuzz::Require(cut == whole, "any cut gives the same samples");
  if (!work.Holds(0.05 + 2e-5 * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  return 0;
}
