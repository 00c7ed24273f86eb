#include "tools/benchmark/matmuls.h"

#include <algorithm>
#include <numeric>
#include <variant>

namespace runnel {
namespace {

// The output of one subsampling stage for one chunk in the steady state.
struct StageOutput {
  int64_t height;  // frames
  int64_t width;   // bins
};

std::vector<StageOutput> StageOutputs(const EncoderConfig& config, int64_t chunk_size) {
  const SubsamplingGeometry geometry(config.subsampling);
  const auto& stages = geometry.stages();
  std::vector<StageOutput> outputs(stages.size());
  int64_t width = config.input_dim;
  for (size_t i = 0; i < stages.size(); ++i)
    outputs[i].width = width = geometry.NumBins(stages[i], width);
  int64_t height = chunk_size;
  for (size_t i = stages.size(); i-- > 0;) {
    outputs[i].height = height;
    height = (height - 1) * stages[i].stride + stages[i].kernel_size;
  }
  return outputs;
}

// chunk_size: frames of the subsampling.
void AddSubsampling(const EncoderConfig& config, int64_t chunk_size, int64_t num_streams,
                    std::vector<Matmul>* matmuls) {
  const SubsamplingGeometry geometry(config.subsampling);
  const std::vector<StageOutput> outputs = StageOutputs(config, chunk_size);
  int64_t channels = geometry.bins_are_channels() ? config.input_dim : 1;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto [height, width] = outputs[i];
    const SubsamplingStage& stage = geometry.stages()[i];
    const int64_t inputs = channels;
    channels = NumChannels(config.subsampling, i, config.model_dim);
    if (inputs == 1) continue;
    if (config.subsampling.type == SubsamplingType::kDwStriding8) {
      matmuls->push_back({kSubsamplingPart, num_streams * height * width, inputs, channels});
    } else if (geometry.bins_are_channels()) {
      matmuls->push_back(
          {kSubsamplingPart, num_streams * height, inputs * stage.kernel_size, channels});
    } else {
      matmuls->push_back({kSubsamplingPart, num_streams, inputs, channels, stage.kernel_size,
                          stage.stride, height, width});
    }
  }
  matmuls->push_back({kSubsamplingPart, num_streams * chunk_size,
                      channels * geometry.NumBins(config.input_dim), config.model_dim});
}

int64_t Operations(const Matmul& matmul) {
  return 2 * matmul.rows * matmul.height * matmul.width * matmul.inputs * matmul.outputs *
         matmul.kernel_size * matmul.kernel_size;
}

// Adds convolutions in which every channel is computed by itself, or that read one channel.
void AddDepthwise(const EncoderConfig& config, int64_t chunk_size, PartCounts* operations) {
  const SubsamplingGeometry geometry(config.subsampling);
  const std::vector<StageOutput> outputs =
      StageOutputs(config, chunk_size * config.frames_per_encoder_frame(0));
  const bool all = config.subsampling.type == SubsamplingType::kDwStriding8;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (geometry.bins_are_channels() || (i > 0 && !all)) continue;
    const int64_t kernel_size = geometry.stages()[i].kernel_size;
    (*operations)[kSubsamplingPart] += 2 * outputs[i].height * outputs[i].width *
                                       NumChannels(config.subsampling, i, config.model_dim) *
                                       kernel_size * kernel_size;
  }
  for (int layer = 0; config.convolution && layer < config.num_layers; ++layer) {
    const int64_t rows = chunk_size * config.frames_per_encoder_frame(layer + 1);
    (*operations)[kConvolutionPart] += 2 * rows * config.kernel_size(layer) * config.model_dim;
  }
  if (config.branches) {
    const BranchesConfig& branches = *config.branches;
    const int64_t products = branches.cgmlp_kernel_size * branches.gate_dim() +
                             int64_t{2} * branches.merge_kernel_size * config.model_dim;
    (*operations)[kConvolutionPart] += int64_t{2} * config.num_layers * chunk_size * products;
  }
}

// Pairs of the queries of a whole utterance with the keys of their windows.
int64_t NumWindowPairs(const AttentionWindow& window, int64_t num_frames) {
  int64_t pairs = 0;
  for (int64_t frame = 0; frame < num_frames; ++frame) {
    const int64_t after = num_frames - 1 - frame;
    const int64_t left = window.left < 0 ? frame : std::min(frame, window.left);
    const int64_t right = window.right < 0 ? after : std::min(after, window.right);
    pairs += left + 1 + right;
  }
  return pairs;
}

// Scores of keys and positions, and context.
int64_t AttentionOperations(const EncoderConfig& config, const StreamingSetting& setting) {
  const bool is_unshifted = std::holds_alternative<UnshiftedPosition>(config.position) ||
                            std::holds_alternative<GroupedUnshifted>(config.position);
  int64_t products = 0;  // of vectors of d values
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const int64_t queries = setting.chunk_size * config.frames_per_encoder_frame(layer);
    const int64_t keys = setting.left_context * config.frames_per_encoder_frame(layer) + queries;
    // A pair of groups is a product of vectors that are as many times as long.
    const int64_t pairs = queries * keys / config.group_size(layer);
    const auto* shifted = std::get_if<ChunkRpe>(&config.position);
    if (shifted != nullptr && shifted->window) {
      products += 3 * NumWindowPairs(*shifted->window, queries);
    } else {
      products += (is_unshifted ? 3 : 2) * pairs;
      if (shifted != nullptr) products += queries * (keys + queries - 1);
    }
  }
  return 2 * products * config.model_dim;
}

}  // namespace

int64_t OperationCount::dense() const {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0});
}

std::vector<Matmul> LargeMatmuls(const ModelConfig& config, MeasuredHead head, int64_t chunk_size,
                                 int64_t num_streams) {
  const EncoderConfig& encoder = config.encoder;
  const int64_t encoder_rows = num_streams * chunk_size;
  int64_t rows = encoder_rows * encoder.frames_per_encoder_frame(0);  // of the present layer
  const int64_t dim = encoder.model_dim;
  const int64_t hidden = encoder.feed_forward.hidden_dim;
  std::vector<Matmul> matmuls;
  const auto add_feed_forward = [&] {
    if (hidden == 0) return;
    matmuls.push_back({kFeedForwardPart, rows, dim, hidden});
    matmuls.push_back({kFeedForwardPart, rows, hidden, dim});
  };
  AddSubsampling(encoder, chunk_size * encoder.frames_per_encoder_frame(0), num_streams, &matmuls);
  if (encoder.type == EncoderType::kMultitalkerConformer) {
    matmuls.insert(matmuls.end(), 2, {kFeedForwardPart, rows, dim, dim});
  }
  for (int layer = 0; layer < encoder.num_layers; ++layer) {
    if (encoder.feed_forward.macaron) add_feed_forward();
    matmuls.push_back({kAttentionPart, rows, dim, 3 * dim});  // query, key, value
    matmuls.push_back({kAttentionPart, rows, dim, dim});
    if (encoder.convolution) {
      matmuls.push_back({kConvolutionPart, rows, dim, 2 * dim});
      rows /= encoder.stride(layer);
      matmuls.push_back({kConvolutionPart, rows, dim, dim});
    }
    if (encoder.branches) {
      const int64_t gates = encoder.branches->gate_dim();
      matmuls.push_back({kConvolutionPart, rows, dim, 2 * gates});
      if (encoder.branches->linear_after_convolution) {
        matmuls.push_back({kConvolutionPart, rows, gates, gates});
      }
      matmuls.push_back({kConvolutionPart, rows, gates, dim});
      matmuls.push_back({kConvolutionPart, rows, 2 * dim, dim});
    }
    add_feed_forward();
  }
  if (head == MeasuredHead::kCtc) {
    matmuls.push_back({kCtcPart, encoder_rows, dim, config.vocabulary.vocab_size});
  }
  return matmuls;
}

StreamingSetting ComputedRows(const StreamingSetting& setting) {
  if (setting.right_context == -1) return setting;
  if (setting.cached_windows) {
    return {setting.chunk_size + setting.right_context, setting.left_context};
  }
  return {setting.left_context + setting.chunk_size + setting.right_context, 0};
}

OperationCount OperationsPerChunk(const ModelConfig& config, MeasuredHead head,
                                  const StreamingSetting& setting) {
  OperationCount count;
  AddDepthwise(config.encoder, setting.chunk_size, &count.parts);
  for (const Matmul& matmul : LargeMatmuls(config, head, setting.chunk_size, 1)) {
    count.parts[matmul.part] += Operations(matmul);
  }
  count.attention = AttentionOperations(config.encoder, setting);
  return count;
}

PartCounts NumWeights(const std::vector<Matmul>& matmuls) {
  PartCounts count = {};
  for (const Matmul& matmul : matmuls) {
    count[matmul.part] += matmul.inputs * matmul.outputs * matmul.kernel_size * matmul.kernel_size;
  }
  return count;
}

int64_t NumCachedValues(const EncoderConfig& config, const StreamingSetting& setting) {
  int64_t frames = 0;
  for (int layer = 0; layer < config.num_layers; ++layer) {
    frames += setting.left_context * config.frames_per_encoder_frame(layer);
  }
  return 2 * frames * config.model_dim;
}

}  // namespace runnel
