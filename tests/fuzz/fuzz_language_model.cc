// Fuzzes language models: ARPA text and compiled models, told apart as by LanguageModel::Load. No
// bytes may do more than throw std::runtime_error, and a model that comes out can be used.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/language_model.h"
#include "runtime/ngram/arpa_compiler.h"
#include "runtime/ngram/image_check.h"
#include "runtime/ngram/image_format.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/ngram_model.h"
#include "runtime/scoring/language_model_scorer.h"
#include "runtime/token_table.h"
#include "tests/fuzz/require.h"

namespace runnel {
namespace {

using fuzz::Require;

const TokenTable& Tokens() {
  static const TokenTable tokens("<blank> 0\n▁ 1\na 2\nb 3\n▁ab 4\na▁b▁ 5\nab 6\n▁a 7\n", 8, 0,
                                 "units.txt");
  return tokens;
}

// `is_compiled_here`: the model is consistent, not only safe to use.
void Score(const std::shared_ptr<const LanguageModel>& model, LanguageModelLevel level,
           bool is_compiled_here) {
  LanguageModelOptions options;
  options.model = model;
  options.level = level;
  try {
    PrepareLanguageModel(options, Tokens());
  } catch (const std::invalid_argument& error) {  // it does not fit, but can be used
    Require(std::string_view(error.what()).find('\n') == std::string_view::npos,
            "a message is one line");
  }
  const LanguageModelScorer scorer(options, Tokens());
  LanguageModelScorer::State state = scorer.Start();
  for (uint32_t i = 0; i < 50; ++i) {
    const double most_gain = scorer.MostGain(state);
    const auto token = static_cast<int32_t>(1 + i * i % 7);
    const double gain = scorer.Extend(&state, token);
    Require(std::isfinite(gain) && std::isfinite(scorer.End(state)), "scores are finite");
    if (is_compiled_here) {
      Require(gain <= most_gain + 1e-9 * std::abs(most_gain), "no gain is above MostGain");
    }
  }
}

void Use(std::unique_ptr<const NgramModel> ngrams, bool is_compiled_here) {
  NgramModel::Context context = ngrams->Start();
  for (uint32_t i = 0; i < 200; ++i) {
    const uint32_t word = (i * i + i / 7) % std::min(ngrams->num_words(), 10U);
    const double log10_prob = ngrams->Log10Prob(context, word, &context);
    Require(std::isfinite(log10_prob), "probabilities are finite");
    Require(log10_prob <= ngrams->most_log10_prob() + 1e-9 * std::abs(ngrams->most_log10_prob()),
            "no probability is above the bound");
  }
  const auto model = std::make_shared<const LanguageModel>(std::move(ngrams));
  Score(model, LanguageModelLevel::kWord, is_compiled_here);
  Score(model, LanguageModelLevel::kToken, is_compiled_here);
}

void UseText(std::string_view text) {
  size_t at = 0;
  LineReader lines(
      [&](char* buffer, size_t size) {
        // In small pieces, so that lines are split.
        const size_t count = std::min({size, text.size() - at, size_t{100}});
        if (count > 0) std::memcpy(buffer, text.data() + at, count);
        at += count;
        return count;
      },
      text.size(), "lm.arpa");
  std::unique_ptr<const NgramModel> model;
  try {
    model = std::make_unique<const NgramModel>(CompileArpa(&lines, {}), "compiled");
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    Require(message.compare(0, 7, "lm.arpa") == 0, "an image that is compiled passes the checks");
    Require(message.find('\n') == message.npos, "a message is one line");
    return;
  }
  Use(std::move(model), /*is_compiled_here=*/true);
}

void UseImage(MappedBytes image) {
  try {
    Use(std::make_unique<const NgramModel>(std::move(image), "lm.bin"), false);
  } catch (const std::runtime_error&) {
  }
}

// In memory of exactly this size, so that the address sanitizer finds what reads beyond.
MappedBytes Copy(std::string_view bytes) {
  MappedBytes image(bytes.size());
  std::memcpy(image.mutable_data(), bytes.data(), bytes.size());
  return image;
}

}  // namespace
}  // namespace runnel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace runnel;  // NOLINT: this function only
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!HasImageMagic(bytes)) {
    UseText(bytes);
    return 0;
  }
  UseImage(Copy(bytes));
  if (size < sizeof(ImageHeader)) return 0;
  // Past version, size and checksum, which would stop all but the corpus.
  MappedBytes sealed = Copy(bytes);
  ImageHeader header = {};
  std::memcpy(&header, sealed.data(), sizeof(header));
  header.version = kImageVersion;
  header.size = size;
  std::memcpy(sealed.mutable_data(), &header, sizeof(header));
  const Checksum checksum = ComputeChecksum(sealed.data(), size);
  std::memcpy(sealed.mutable_data() + offsetof(ImageHeader, checksum), checksum.data(),
              checksum.size());
  UseImage(std::move(sealed));
  return 0;
}
