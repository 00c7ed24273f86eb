// bench_operations: the time of single operations at the sizes of an AISHELL Conformer, by Google
// Benchmark. `items_per_second` counts feature frames for the frontend, and chunks of one stream
// for the encoder, whose argument is the number of streams in the batch.
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "encoder/attention.h"
#include "encoder/conformer_layer.h"
#include "encoder/convolution.h"
#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/json_section.h"
#include "encoder/position/position_scheme.h"
#include "encoder/subsampling.h"
#include "frontend/fbank.h"
#include "frontend/feature_stream.h"
#include "runtime/ctc_head.h"
#include "runtime/threads.h"
#include "tools/benchmark/random_weights.h"
#include "tools/verification/noise.h"

namespace runnel {
namespace {

constexpr int64_t kChunkSize = 16;
constexpr int64_t kLeftContext = 64;
constexpr int kVocabSize = 4233;
constexpr int kSampleRateHz = 16000;

EncoderConfig AishellConfig() {
  EncoderConfig config;
  config.input_dim = 80;
  config.model_dim = 256;
  config.num_layers = 12;
  config.num_heads = 4;
  config.feed_forward.hidden_dim = 2048;
  config.convolution->kernel_size = 8;
  const nlohmann::json position = {{"scheme", "chunk_rpe"},
                                   {"linear_pos_bias", false},
                                   {"query_scaling", "after_bias"},
                                   {"table_order", "descending"}};
  JsonSection section(position, "position", "bench_operations");
  config.position = ParsePosition(&section);
  return config;
}

std::shared_ptr<const PositionScheme> MakePosition(const EncoderConfig& config, Weights* weights) {
  return config.position.build(weights, {"self_attn"}, config.attention_sizes()).layers[0];
}

// A batch of streams whose states are `initial`, at the same point of their streams.
struct Streams {
  Streams(const LayerState& initial, int64_t num_streams)
      : states(static_cast<size_t>(num_streams), initial) {
    for (int64_t i = 0; i < num_streams; ++i) {
      batch.push_back({i * kChunkSize, kChunkSize, 0, &states[static_cast<size_t>(i)], kLeftContext,
                       std::nullopt});
    }
  }

  void Advance() {
    for (LayerSegment& segment : batch) segment.offset += kChunkSize;
  }

  std::vector<LayerState> states;
  LayerBatch batch;
};

at::Tensor RandomRows(int64_t num_streams) {
  return at::randn({num_streams * kChunkSize, AishellConfig().model_dim});
}

// Times forward(x, batch) in the steady state.
template <typename Forward>
void RunOnStreams(benchmark::State& state, const LayerState& initial, const Forward& forward) {
  const c10::InferenceMode guard;
  const int64_t num_streams = state.range(0);
  const at::Tensor x = RandomRows(num_streams);
  Streams streams(initial, num_streams);
  for (int64_t i = 0; i <= kLeftContext / kChunkSize; ++i) {
    forward(x, streams.batch);
    streams.Advance();
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(forward(x, streams.batch));
    streams.Advance();
  }
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// Times forward(x), which remembers nothing.
template <typename Forward>
void RunOnRows(benchmark::State& state, const Forward& forward) {
  const c10::InferenceMode guard;
  const at::Tensor x = RandomRows(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(forward(x));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Feature frames of 80 bins from packets of 100 ms, all that a stream does for them.
void BM_FeatureStream(benchmark::State& state) {
  FbankOptions options;
  options.num_mel_bins = 80;
  constexpr size_t kPacket = kSampleRateHz / 10;
  const std::vector<float> samples = SpeechShapedNoise(10, kSampleRateHz, 1);
  FeatureStream stream(std::make_shared<const Fbank>(options));
  std::vector<float> features(static_cast<size_t>(12 * stream.dim()));
  size_t position = 0;
  int64_t num_frames = 0;
  for (auto _ : state) {
    stream.AcceptSamples(samples.data() + position, kPacket);
    position = (position + kPacket) % (samples.size() - kPacket);
    num_frames += static_cast<int64_t>(stream.PopFrames(12, features.data()));
  }
  state.SetItemsProcessed(num_frames);
}
BENCHMARK(BM_FeatureStream);

// One such frame, from samples to log mel energies.
void BM_FbankFrame(benchmark::State& state) {
  FbankOptions options;
  options.num_mel_bins = 80;
  const Fbank fbank(options);
  std::vector<float> samples = SpeechShapedNoise(10, kSampleRateHz, 1);
  for (float& sample : samples) sample *= 32768;
  std::vector<float> features(static_cast<size_t>(fbank.dim()));
  FbankScratch scratch;
  const auto last = static_cast<int64_t>(samples.size()) - fbank.frame_length();
  int64_t frame = 0;
  for (auto _ : state) {
    fbank.ComputeFrame(samples.data() + frame * fbank.frame_shift() % last, frame, &scratch,
                       features.data());
    benchmark::DoNotOptimize(features.data());
    ++frame;
  }
  state.SetItemsProcessed(frame);
}
BENCHMARK(BM_FbankFrame);

// Subsampling goes over streams one by one, so that there is no batch.
void BM_Subsampling(benchmark::State& state) {
  const c10::InferenceMode guard;
  RandomWeights weights(at::kFloat);
  const EncoderConfig config = AishellConfig();
  const Subsampling subsampling(&weights, "embed", config);
  const SubsamplingGeometry& geometry = subsampling.geometry();
  const int64_t num_frames = (kChunkSize - 1) * geometry.rate() + geometry.right_context() + 1;
  const at::Tensor features = at::randn({num_frames, config.input_dim});
  for (auto _ : state) {
    benchmark::DoNotOptimize(subsampling.Forward(features, 0, {0, kChunkSize}, std::nullopt));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Subsampling);

void BM_LayerNorm(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const LayerNorm norm(&weights, "norm", AishellConfig().model_dim, 1e-5);
  RunOnRows(state, [&](const at::Tensor& x) { return norm.Forward(x); });
}

void BM_FeedForward(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const EncoderConfig config = AishellConfig();
  const FeedForward feed_forward(&weights, "feed_forward", config.model_dim, config.feed_forward);
  RunOnRows(state, [&](const at::Tensor& x) { return feed_forward.Forward(x); });
}

void BM_Attention(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const EncoderConfig config = AishellConfig();
  const Attention attention(&weights, "self_attn", config, MakePosition(config, &weights));
  const FrameBuffer empty = attention.InitialCache();
  RunOnStreams(
      state, {empty, empty, empty, empty},
      [&](const at::Tensor& x, const LayerBatch& batch) { return attention.Forward(x, batch); });
}

void BM_Convolution(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const EncoderConfig config = AishellConfig();
  const Convolution convolution(&weights, "conv_module", config.model_dim, *config.convolution);
  const FrameBuffer empty(config.model_dim, at::kFloat);
  RunOnStreams(
      state, {empty, empty, convolution.InitialCache(), empty},
      [&](const at::Tensor& x, const LayerBatch& batch) { return convolution.Forward(x, batch); });
}

void BM_ConformerLayer(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const EncoderConfig config = AishellConfig();
  const ConformerLayer layer(&weights, "layer", config, MakePosition(config, &weights));
  RunOnStreams(state, layer.InitialState(), [&](const at::Tensor& x, const LayerBatch& batch) {
    return layer.Forward(x, batch);
  });
}

void BM_CtcHead(benchmark::State& state) {
  RandomWeights weights(at::kFloat);
  const CtcHead head(&weights, AishellConfig().model_dim, kVocabSize);
  RunOnRows(state, [&](const at::Tensor& x) { return head.LogProbs(x); });
}

BENCHMARK(BM_LayerNorm)->Arg(1)->Arg(16);
BENCHMARK(BM_FeedForward)->Arg(1)->Arg(16);
BENCHMARK(BM_Attention)->Arg(1)->Arg(16);
BENCHMARK(BM_Convolution)->Arg(1)->Arg(16);
BENCHMARK(BM_ConformerLayer)->Arg(1)->Arg(16);
BENCHMARK(BM_CtcHead)->Arg(1)->Arg(16);

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::SetThreadsPerOperation(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
