#include "runtime/model/four_bit_layers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "encoder/encoder_weights.h"
#include "runtime/model/encode_chunks.h"

namespace runnel {
namespace {

// -1: outside the layers.
int LayerOf(const std::string& name) {
  const std::string prefix = kEncoderLayers;
  return name.rfind(prefix, 0) == 0 ? std::atoi(name.c_str() + prefix.size()) : -1;
}

}  // namespace

double JointError(const std::vector<LayerError>& layers) {
  double sum = 0;
  for (const LayerError& layer : layers) sum += layer.error * layer.error;
  return std::sqrt(sum);
}

std::vector<int> LayersOfEightBits(std::vector<LayerError> layers, double max_error) {
  std::stable_sort(
      layers.begin(), layers.end(),
      [](const LayerError& one, const LayerError& other) { return one.error < other.error; });
  std::vector<int> chosen;
  while (!layers.empty() && !(JointError(layers) <= max_error)) {
    chosen.push_back(layers.back().layer);
    layers.pop_back();
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<cpu::NamedMatrix> Mixed(const std::vector<cpu::NamedMatrix>& eight_bits,
                                    const std::vector<cpu::NamedMatrix>& four_bits,
                                    const std::function<bool(int layer)>& has_four_bits) {
  std::vector<cpu::NamedMatrix> mixed = eight_bits;
  for (size_t i = 0; i < mixed.size(); ++i) {
    const int layer = LayerOf(mixed[i].name);
    if (layer >= 0 && has_four_bits(layer)) mixed[i] = four_bits.at(i);
  }
  return mixed;
}

std::vector<float> EncoderOutput(const ModelParts& model,
                                 const std::vector<std::vector<float>>& recordings) {
  const StreamingConfig& streaming = model.config.streaming;
  const auto dim = static_cast<size_t>(model.frame_extractor->dim());
  std::vector<float> output;
  for (const std::vector<float>& frames : recordings) {
    size_t next = 0;
    const auto read = [&](int64_t max_frames) {
      const size_t count = std::min((frames.size() - next) / dim, static_cast<size_t>(max_frames));
      const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(next);
      next += count * dim;
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count * dim));
    };
    EncodeChunks(model, {streaming.chunk_size, streaming.left_context}, read, [&](Matrix rows) {
      const float* values = rows.rows().float32();
      output.insert(output.end(), values, values + rows.count() * rows.dim());
    });
  }
  return output;
}

double RelativeError(const std::vector<float>& actual, const std::vector<float>& expected) {
  double error = 0, all = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = expected[i];
    error += (actual.at(i) - value) * (actual.at(i) - value);
    all += value * value;
  }
  if (error == 0) return 0;
  const double relative = std::sqrt(error / all);
  return std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

}  // namespace runnel
