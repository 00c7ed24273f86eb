#include "tools/benchmark/products.h"

namespace runnel {
namespace {

// What a stage of the subsampling computes for one chunk in the steady state.
struct StageOutput {
  int64_t height;  // frames
  int64_t width;   // bins
};

std::vector<StageOutput> StageOutputs(const EncoderConfig& config, int64_t chunk_size) {
  const SubsamplingGeometry geometry(config.subsampling);
  const auto& stages = geometry.stages();
  std::vector<StageOutput> outputs(stages.size());
  int64_t width = config.input_dim;
  for (size_t i = 0; i < stages.size(); ++i) outputs[i].width = width = stages[i].NumOutputs(width);
  int64_t height = chunk_size;
  for (size_t i = stages.size(); i-- > 0;) {
    outputs[i].height = height;
    height = (height - 1) * stages[i].stride + stages[i].kernel_size;
  }
  return outputs;
}

int64_t Channels(const EncoderConfig& config) {
  if (config.subsampling.type == SubsamplingType::kLinear) return 1;
  return config.subsampling.is_striding() ? config.subsampling.channels : config.model_dim;
}

void AddSubsampling(const EncoderConfig& config, int64_t chunk_size, int64_t num_streams,
                    std::vector<Product>* products) {
  const SubsamplingGeometry geometry(config.subsampling);
  const std::vector<StageOutput> outputs = StageOutputs(config, chunk_size);
  const int64_t channels = Channels(config);
  for (size_t i = 1; i < outputs.size(); ++i) {
    const auto [height, width] = outputs[i];
    if (config.subsampling.type == SubsamplingType::kDwStriding8) {
      products->push_back({kSubsamplingProducts, num_streams * height * width, channels, channels});
    } else {
      const SubsamplingStage& stage = geometry.stages()[i];
      products->push_back({kSubsamplingProducts, num_streams, channels, channels, stage.kernel_size,
                           stage.stride, height, width});
    }
  }
  products->push_back({kSubsamplingProducts, num_streams * chunk_size,
                       channels * geometry.NumBins(config.input_dim), config.model_dim});
}

int64_t Operations(const Product& product) {
  return 2 * product.rows * product.height * product.width * product.inputs * product.outputs *
         product.kernel_size * product.kernel_size;
}

// Convolutions of one channel each.
int64_t DepthwiseOperations(const EncoderConfig& config, int64_t chunk_size) {
  int64_t operations = 0;
  const SubsamplingGeometry geometry(config.subsampling);
  const std::vector<StageOutput> outputs = StageOutputs(config, chunk_size);
  const bool all = config.subsampling.type == SubsamplingType::kDwStriding8;
  for (size_t i = 0; i < (all ? outputs.size() : outputs.empty() ? 0 : 1); ++i) {
    const int64_t kernel_size = geometry.stages()[i].kernel_size;
    operations +=
        2 * outputs[i].height * outputs[i].width * Channels(config) * kernel_size * kernel_size;
  }
  if (config.convolution) {
    operations += int64_t{2} * config.num_layers * chunk_size * config.convolution->kernel_size *
                  config.model_dim;
  }
  return operations;
}

// Queries with keys and with positions, weights with values.
int64_t AttentionOperations(const EncoderConfig& config, const StreamingSetting& setting) {
  const int64_t keys = setting.left_context + setting.chunk_size;
  int64_t columns = 2 * keys;
  const std::string& scheme = config.position.scheme;
  if (scheme == "chunk_rpe" || scheme == "bounded_rpe") columns += keys + setting.chunk_size - 1;
  if (scheme == "unshifted") columns += keys;
  return int64_t{2} * config.num_layers * setting.chunk_size * columns * config.model_dim;
}

}  // namespace

std::vector<Product> LargeProducts(const ModelConfig& config, int64_t chunk_size,
                                   int64_t num_streams) {
  const EncoderConfig& encoder = config.encoder;
  const int64_t rows = num_streams * chunk_size;
  const int64_t dim = encoder.model_dim;
  const int64_t hidden = encoder.feed_forward.hidden_dim;
  std::vector<Product> products;
  const auto add_feed_forward = [&] {
    products.push_back({kFeedForwardProducts, rows, dim, hidden});
    products.push_back({kFeedForwardProducts, rows, hidden, dim});
  };
  AddSubsampling(encoder, chunk_size, num_streams, &products);
  for (int layer = 0; layer < encoder.num_layers; ++layer) {
    if (encoder.feed_forward.macaron) add_feed_forward();
    products.push_back({kAttentionProducts, rows, dim, 3 * dim});  // query, key, value
    products.push_back({kAttentionProducts, rows, dim, dim});
    if (encoder.convolution) {
      products.push_back({kConvolutionProducts, rows, dim, 2 * dim});
      products.push_back({kConvolutionProducts, rows, dim, dim});
    }
    add_feed_forward();
  }
  products.push_back({kCtcProducts, rows, dim, config.ctc.vocab_size});
  return products;
}

OperationCount OperationsPerChunk(const ModelConfig& config, const StreamingSetting& setting) {
  OperationCount count{DepthwiseOperations(config.encoder, setting.chunk_size),
                       AttentionOperations(config.encoder, setting)};
  for (const Product& product : LargeProducts(config, setting.chunk_size, 1)) {
    count.dense += Operations(product);
  }
  return count;
}

}  // namespace runnel
