// bench_operations: the time of single operations at the sizes of an AISHELL Conformer, measured
// with Google Benchmark. Names are operation/backend/precision/streams. `items_per_second` counts
// feature frames for the frontend, and chunks of one stream otherwise. `whole_step` is the encoder
// and the CTC head. Its counters, listed at RunWholeStep, give the time of each part.
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoder/conformer_layer.h"
#include "encoder/cpu/backend.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/encoder.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/backend.h"
#include "encoder/libtorch/tensor_rows.h"
#include "frontend/feature_stream.h"
#include "frontend/features/fbank.h"
#include "runtime/model/model_config.h"
#include "runtime/threads.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/memory_bandwidth.h"
#include "tools/benchmark/part_timer.h"
#include "tools/benchmark/random/weights.h"
#include "tools/reference/speech_noise.h"

namespace runnel {
namespace {

constexpr int64_t kChunkSize = 16;
constexpr int64_t kLeftContext = 64;
constexpr int kVocabSize = 4233;
constexpr int kSampleRateHz = 16000;
constexpr double kReadMs = 300;  // of reading, for its speed

EncoderConfig AishellConfig() {
  EncoderConfig config;
  config.input_dim = 80;
  config.model_dim = 256;
  config.num_layers = 12;
  config.num_heads = 4;
  config.feed_forward.hidden_dim = 2048;
  config.convolution->kernel_size = 8;
  config.position = ChunkRpe();
  return config;
}

Matrix RandomRows(int64_t count) {
  return Matrix(libtorch::View(at::randn({count, AishellConfig().model_dim})));
}

using MakeBackend = std::function<std::unique_ptr<const EncoderBackend>(const EncoderConfig& config,
                                                                        Weights* weights)>;

MakeBackend CpuBackend(kernels::MatmulType type) {
  return [type](const EncoderConfig& config, Weights* weights) {
    return MakeCpuBackend(config, weights, {type, false});
  };
}

// A layer with random weights, and its modules with the norms before them.
struct Layer {
  explicit Layer(const MakeBackend& make_backend)
      : Layer(std::make_unique<RandomWeights>(at::kFloat), make_backend) {}
  Layer(const std::unique_ptr<RandomWeights>& weights, const MakeBackend& make_backend)
      : Layer(*make_backend(AishellConfig(), weights.get()),
              BindLayer(AishellConfig(), 0, weights.get())) {}
  Layer(const EncoderBackend& backend, const LayerWeights& weights)
      : feed_forward(backend.MakeFeedForward(weights.feed_forward, &weights.norm_feed_forward)),
        attention(backend.MakeAttention(0, weights.attention, &weights.norm_attention)),
        convolution(backend.MakeConvolution(*weights.convolution, &*weights.norm_convolution)),
        whole(backend, weights, 0, true) {}

  std::unique_ptr<const ResidualModule> feed_forward;
  std::unique_ptr<const ResidualModule> attention;
  std::unique_ptr<const ResidualModule> convolution;
  ConformerLayer whole;
};

// The rows of a batch, and the layer state of each of its streams.
class Streams {
 public:
  Streams(const ConformerLayer& layer, int64_t num_streams)
      : rows_(RandomRows(num_streams * kChunkSize)),
        states_(static_cast<size_t>(num_streams), layer.InitialState()) {
    for (int64_t i = 0; i < num_streams; ++i) {
      Segment segment;
      segment.frames = {0, kChunkSize};
      segment.first_row = i * kChunkSize;
      segment.chunk_size = kChunkSize;
      segment.left_context = kLeftContext;
      segment.state = &states_[static_cast<size_t>(i)];
      segments_.push_back(segment);
    }
  }

  // Computes one chunk of each: step(segments, rows).
  template <typename Step>
  void Run(const Step& step) {
    step(segments_, rows_.rows());
    for (Segment& segment : segments_) {
      segment.frames = {segment.frames.end, segment.frames.end + kChunkSize};
    }
  }

 private:
  Matrix rows_;
  std::vector<LayerState> states_;
  std::vector<Segment> segments_;
};

using LayerStep = void (*)(const Layer& layer, const std::vector<Segment>& segments, Rows rows);

// Times a step in the steady state.
void RunOnStreams(benchmark::State& state, const MakeBackend& make_backend, int64_t num_streams,
                  LayerStep step) {
  const Layer layer(make_backend);
  Streams streams(layer.whole, num_streams);
  const auto run = [&] {
    streams.Run([&](const auto& segments, Rows rows) { step(layer, segments, rows); });
  };
  for (int64_t i = 0; i <= 2 * kLeftContext / kChunkSize; ++i) run();
  for (auto _ : state) run();
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// Registers the modules of a layer, each with its norm and its residual sum, and the whole layer.
void RegisterModules(const std::string& name, const MakeBackend& make_backend,
                     int64_t num_streams) {
  const auto add = [&](const std::string& operation, LayerStep step) {
    benchmark::RegisterBenchmark((operation + name).c_str(), [=](benchmark::State& state) {
      RunOnStreams(state, make_backend, num_streams, step);
    });
  };
  add("feed_forward", [](const Layer& layer, const auto& segments, Rows rows) {
    layer.feed_forward->AddTo(segments, rows);
  });
  add("attention", [](const Layer& layer, const auto& segments, Rows rows) {
    layer.attention->AddTo(segments, rows);
  });
  add("convolution", [](const Layer& layer, const auto& segments, Rows rows) {
    layer.convolution->AddTo(segments, rows);
  });
  add("conformer_layer", [](const Layer& layer, const auto& segments, Rows rows) {
    layer.whole.Forward(segments, rows);
  });
}

void RunCtcHead(benchmark::State& state, const MakeBackend& make_backend, int64_t num_streams) {
  RandomWeights weights(at::kFloat);
  const int model_dim = AishellConfig().model_dim;
  const auto head = make_backend(AishellConfig(), &weights)
                        ->MakeCtcHead(BindCtcHead(model_dim, kVocabSize, &weights));
  const Matrix rows = RandomRows(num_streams * kChunkSize);
  for (auto _ : state) benchmark::DoNotOptimize(head->LogProbs(rows.rows()));
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// An encoder, and the state of each stream of a batch.
class EncoderStreams {
 public:
  EncoderStreams(const EncoderConfig& config, RandomWeights* weights,
                 std::unique_ptr<const EncoderBackend> backend, int64_t num_streams)
      : encoder_(config, weights, std::move(backend)),
        states_(static_cast<size_t>(num_streams), encoder_.InitialState()),
        features_(at::randn({FramesOfNextChunk(), config.input_dim})) {}

  // Computes one chunk of each from feature frames.
  EncoderOutput Run() {
    const int64_t num_frames = FramesOfNextChunk();
    std::vector<EncoderSegment> segments;
    for (EncoderState& stream : states_) {
      segments.push_back({&stream, features_.data_ptr<float>(), {num_frames, false}, kLeftContext});
    }
    return encoder_.Step(segments);
  }

 private:
  int64_t FramesOfNextChunk() const { return encoder_.FramesForChunk(states_[0], kChunkSize); }

  Encoder encoder_;
  std::vector<EncoderState> states_;
  at::Tensor features_;
};

// An encoder without layers: feature frames to rows.
void RunSubsampling(benchmark::State& state, const MakeBackend& make_backend, int64_t num_streams) {
  EncoderConfig config = AishellConfig();
  config.num_layers = 0;
  config.after_norm = false;
  config.normalization = Normalization::kNone;
  RandomWeights weights(at::kFloat);
  EncoderStreams streams(config, &weights, make_backend(config, &weights), num_streams);
  streams.Run();
  for (auto _ : state) streams.Run();
  state.SetItemsProcessed(state.iterations() * num_streams);
}

// Medians of the milliseconds of each part, of one chunk of one stream.
class PartMedians {
 public:
  void Add(const PartTimes& times) {
    for (size_t part = 0; part < kNumModelParts; ++part) all_[part].push_back(times[part]);
  }
  double Of(size_t part, int64_t num_streams) const {
    return Summarize(all_[part]).median_ms / static_cast<double>(num_streams);
  }

 private:
  std::array<std::vector<double>, kNumModelParts> all_;
};

// Counters of a chunk of one stream; P is a name of kModelPartNames:
//   step_ms, P_ms            medians: the whole step, and the modules of a part within it
//   attention_matmuls_ms     median: the matmuls of kAttentionPart when all large matmuls run alone
//   P_operations, scores_operations
//   P_weight_bytes           of its large matmuls, read once in a step
//   cache_bytes              cached keys and values that are read, float32
//   read_gb_per_second       MemoryBandwidth of as many bytes as a step reads
void RunWholeStep(benchmark::State& state, kernels::MatmulType type, const std::string& precision,
                  int64_t num_streams) {
  ModelConfig config;
  config.encoder = AishellConfig();
  config.vocabulary.vocab_size = kVocabSize;
  PartTimes times = {};
  RandomWeights weights(at::kFloat);
  auto backend = MakeTimedBackend(CpuBackend(type)(config.encoder, &weights), &times);
  const auto head =
      backend->MakeCtcHead(BindCtcHead(config.encoder.model_dim, kVocabSize, &weights));
  EncoderStreams streams(config.encoder, &weights, std::move(backend), num_streams);
  const auto run = [&] {
    return MillisecondsOf(
        [&] { benchmark::DoNotOptimize(head->LogProbs(streams.Run().rows.rows())); });
  };
  for (int64_t i = 0; i <= 2 * kLeftContext / kChunkSize; ++i) run();
  std::vector<double> steps;
  PartMedians parts;
  for (auto _ : state) {
    times = {};
    steps.push_back(run());
    parts.Add(times);
  }
  state.SetItemsProcessed(state.iterations() * num_streams);

  const auto matmuls = LargeMatmuls(config, MeasuredHead::kCtc, kChunkSize, num_streams);
  auto timer = MatmulTimer::Make(precision, matmuls);
  timer->Run();
  PartMedians alone;
  for (int64_t i = 0; i < std::max<int64_t>(5, state.iterations()); ++i) alone.Add(timer->Run());

  const StreamingSetting setting{kChunkSize, kLeftContext};
  const OperationCount operations = OperationsPerChunk(config, MeasuredHead::kCtc, setting);
  const PartCounts num_weights = NumWeights(matmuls);
  const auto count = [&state](const std::string& name, auto value) {
    state.counters[name] = static_cast<double>(value);
  };
  count("step_ms", Summarize(steps).median_ms / static_cast<double>(num_streams));
  count("attention_matmuls_ms", alone.Of(kAttentionPart, num_streams));
  count("scores_operations", operations.attention);
  const int64_t cache_bytes =
      NumCachedValues(config.encoder, setting) * static_cast<int64_t>(sizeof(float));
  count("cache_bytes", cache_bytes);
  int64_t step_bytes = num_streams * cache_bytes;
  for (const int64_t num : num_weights) step_bytes += num * kernels::ValueBytes(type);
  count("read_gb_per_second", MemoryBandwidth(step_bytes, kReadMs));
  for (size_t part = 0; part < kNumModelParts; ++part) {
    const std::string name = kModelPartNames[part];
    count(name + "_ms", parts.Of(part, num_streams));
    count(name + "_operations", operations.parts[part]);
    count(name + "_weight_bytes", num_weights[part] * kernels::ValueBytes(type));
  }
}

// Feature frames of 80 bins from packets of 100 ms, with all the work of a stream.
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

// The log mel energies of one frame, from its samples.
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
  using kernels::MatmulType;
  const std::vector<std::pair<std::string, MatmulType>> types = {
      {"float32", MatmulType::kFloat32},
      {"bfloat16", MatmulType::kBfloat16},
      {"int8", MatmulType::kInt8}};
  std::vector<std::pair<std::string, MakeBackend>> backends = {
      {"/libtorch/float32/", &MakeLibTorchBackend}};
  for (const auto& [precision, type] : types) {
    backends.emplace_back("/cpu/" + precision + "/", CpuBackend(type));
  }
  for (const auto& [backend_name, make_backend] : backends) {
    for (const int64_t num_streams : {1, 16}) {
      const std::string name = backend_name + std::to_string(num_streams);
      const auto add = [&, &make = make_backend](const std::string& operation, auto run) {
        benchmark::RegisterBenchmark(
            (operation + name).c_str(),
            [run, make, num_streams](benchmark::State& state) { run(state, make, num_streams); });
      };
      add("subsampling", RunSubsampling);
      RegisterModules(name, make_backend, num_streams);
      add("ctc_head", RunCtcHead);
    }
  }
  for (const auto& [precision, type] : types) {
    for (const int64_t num_streams : {1, 16}) {
      const std::string name = "whole_step/cpu/" + precision + "/" + std::to_string(num_streams);
      benchmark::RegisterBenchmark(
          name.c_str(), [type = type, precision = precision, num_streams](benchmark::State& state) {
            RunWholeStep(state, type, precision, num_streams);
          });
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
