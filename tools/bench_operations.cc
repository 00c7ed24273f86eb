// bench_operations: the time of single operations at the sizes of an AISHELL Conformer, by Google
// Benchmark. Names are operation/backend/precision/streams; `items_per_second` counts feature
// frames for the frontend, and chunks of one stream for everything else.
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encoder/conformer_layer.h"
#include "encoder/encoder.h"
#include "encoder/encoder_config.h"
#include "encoder/fast/fast_backend.h"
#include "encoder/json_section.h"
#include "encoder/libtorch_backend.h"
#include "encoder/position/position_scheme.h"
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

// One layer's modules, apart.
template <class Backend>
struct Modules {
  Modules(const EncoderConfig& config, const typename Backend::Options& options)
      : Modules(config, options, std::make_unique<RandomWeights>(at::kFloat)) {}
  Modules(const EncoderConfig& config, const typename Backend::Options& options,
          const std::unique_ptr<RandomWeights>& weights)
      : norm(weights.get(), "norm", config.model_dim, config.layer_norm_eps),
        attention(Backend::MakeAttention(weights.get(), "self_attn", config,
                                         MakePosition(config, weights.get()), options)),
        convolution(Backend::MakeConvolution(weights.get(), "conv_module", config, options)),
        feed_forward(Backend::MakeFeedForward(weights.get(), "feed_forward", config, options)),
        layer(weights.get(), "layer", config, MakePosition(config, weights.get()), options) {}

  typename Backend::LayerNorm norm;
  typename Backend::Attention attention;
  typename Backend::Convolution convolution;
  typename Backend::FeedForward feed_forward;
  ConformerLayer<Backend> layer;
};

// The rows of a batch, and a layer's state of each of its streams.
template <class Backend>
class Streams {
 public:
  using Rows = typename Backend::Rows;

  Streams(const ConformerLayer<Backend>& layer, int64_t num_streams)
      : values_(at::randn({num_streams * kChunkSize, AishellConfig().model_dim})),
        states_(static_cast<size_t>(num_streams), layer.InitialState()) {
    for (int64_t i = 0; i < num_streams; ++i) {
      batch_.push_back({i * kChunkSize, kChunkSize, 0, &states_[static_cast<size_t>(i)],
                        kLeftContext, std::nullopt});
    }
    if constexpr (std::is_same_v<Rows, at::Tensor>) {
      rows_ = values_;
    } else {
      rows_ = {values_.data_ptr<float>(), values_.size(0), values_.size(1)};
    }
  }

  // Computes one chunk of each: step(batch, &rows).
  template <typename Step>
  void Run(const Step& step) {
    step(batch_, &rows_);
    for (auto& segment : batch_) segment.offset += kChunkSize;
  }

 private:
  at::Tensor values_;
  std::vector<typename Backend::LayerState> states_;
  typename Backend::Batch batch_;
  Rows rows_;
};

// Times step(modules, batch, &rows) in the steady state.
template <class Backend, typename Step>
void RunOnStreams(benchmark::State& state, const typename Backend::Options& options,
                  int64_t num_streams, const Step& step) {
  const c10::InferenceMode guard;
  const Modules<Backend> modules(AishellConfig(), options);
  Streams<Backend> streams(modules.layer, num_streams);
  const auto run = [&] {
    streams.Run([&](const auto& batch, auto* rows) { step(modules, batch, rows); });
  };
  for (int64_t i = 0; i <= 2 * kLeftContext / kChunkSize; ++i) run();
  for (auto _ : state) run();
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// Registers the modules of a layer, each with the norm before it and the sum after it, and the
// layer.
template <class Backend>
void RegisterModules(const std::string& name, const typename Backend::Options& options,
                     int64_t num_streams) {
  const auto add = [&](const std::string& operation, auto step) {
    benchmark::RegisterBenchmark((operation + name).c_str(), [=](benchmark::State& state) {
      RunOnStreams<Backend>(state, options, num_streams, step);
    });
  };
  add("feed_forward", [](const auto& modules, const auto& batch, auto* rows) {
    Backend::AddBranch(modules.feed_forward, &modules.norm, batch, rows);
  });
  add("attention", [](const auto& modules, const auto& batch, auto* rows) {
    Backend::AddBranch(modules.attention, &modules.norm, batch, rows);
  });
  add("convolution", [](const auto& modules, const auto& batch, auto* rows) {
    Backend::AddBranch(modules.convolution, &modules.norm, batch, rows);
  });
  add("conformer_layer", [](const auto& modules, const auto& batch, auto* rows) {
    modules.layer.Forward(batch, rows);
  });
}

void RunCtcHead(benchmark::State& state, const EncoderOptions& options, int64_t num_streams) {
  RandomWeights weights(at::kFloat);
  const int model_dim = AishellConfig().model_dim;
  const CtcHead head(&weights, model_dim, kVocabSize, options);
  const at::Tensor rows = at::randn({num_streams * kChunkSize, model_dim});
  for (auto _ : state) benchmark::DoNotOptimize(head.LogProbs(rows));
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// An encoder without layers: feature frames to rows.
void RunSubsampling(benchmark::State& state, const EncoderOptions& options, int64_t num_streams) {
  EncoderConfig config = AishellConfig();
  config.num_layers = 0;
  config.after_norm = false;
  config.normalization = Normalization::kNone;
  RandomWeights weights(at::kFloat);
  const Encoder encoder(config, &weights, options);
  std::vector<EncoderState> states(static_cast<size_t>(num_streams), encoder.InitialState(0));
  const int64_t first_frames = encoder.FramesForChunk(states[0], kChunkSize);
  const at::Tensor features = at::randn({first_frames, config.input_dim});
  const auto run = [&] {
    const int64_t num_frames = encoder.FramesForChunk(states[0], kChunkSize);
    std::vector<EncoderSegment> segments;
    for (EncoderState& stream : states) {
      segments.push_back({&stream, features.data_ptr<float>(), {num_frames, false}});
    }
    encoder.Step(segments);
  };
  run();
  for (auto _ : state) run();
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// Feature frames of 80 bins from packets of 100 ms, all that a stream does for them.
void FeatureFrames(benchmark::State& state) {
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

// One such frame, from samples to log mel energies.
void FbankFrames(benchmark::State& state) {
  FbankOptions options;
  options.num_mel_bins = 80;
  const Fbank fbank(options);
  std::vector<float> samples = SpeechShapedNoise(10, kSampleRateHz, 1);
  for (float& sample : samples) sample *= 32768;
  std::vector<float> features(static_cast<size_t>(fbank.dim()));
  FrameScratch scratch;
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

void RegisterAll() {
  benchmark::RegisterBenchmark("feature_stream", FeatureFrames);
  benchmark::RegisterBenchmark("fbank", FbankFrames);
  struct Variant {
    std::string name;
    EncoderOptions options;
  };
  using kernels::ProductPrecision;
  std::vector<Variant> variants = {
      {"/libtorch/float32/", {EncoderOptions::Backend::kLibTorch, {}}}};
  for (const auto& [name, precision] : {std::pair("/fast/float32/", ProductPrecision::kFloat32),
                                        std::pair("/fast/bfloat16/", ProductPrecision::kBfloat16),
                                        std::pair("/fast/int8/", ProductPrecision::kInt8)}) {
    variants.push_back({name, {EncoderOptions::Backend::kFast, {precision, false}}});
  }
  for (const Variant& variant : variants) {
    const EncoderOptions& options = variant.options;
    for (const int64_t num_streams : {1, 16}) {
      const std::string name = variant.name + std::to_string(num_streams);
      const auto add = [&](const std::string& operation, auto run) {
        benchmark::RegisterBenchmark((operation + name).c_str(), [=](benchmark::State& state) {
          run(state, options, num_streams);
        });
      };
      add("subsampling", RunSubsampling);
      if (options.backend == EncoderOptions::Backend::kLibTorch) {
        RegisterModules<LibTorchBackend>(name, {}, num_streams);
      } else {
        RegisterModules<FastBackend>(name, options.fast, num_streams);
      }
      add("ctc_head", RunCtcHead);
    }
  }
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::SetThreadsPerOperation(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  runnel::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
