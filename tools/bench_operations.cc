// bench_operations: the time of features and of whole steps at the sizes of an AISHELL Conformer,
// measured with Google Benchmark. Names of steps that begin with `e_branchformer/` are those of an
// E-Branchformer of WeNet's recipe, the others of the Conformer. `items_per_second` counts feature
// frames of `feature_stream` and `fbank`, and chunks of one stream of
// `whole_step/cpu/precision/streams`, the encoder and the CTC head. Its counters, listed at
// RunWholeStep, give the time of each part.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/backend.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/encoder.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "frontend/feature_stream.h"
#include "frontend/features/fbank.h"
#include "runtime/model/model_config.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/part_timer.h"
#include "tools/benchmark/random/normal_values.h"
#include "tools/benchmark/random/weights.h"
#include "tools/cli/speech_noise.h"

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

// WeNet's recipe for AISHELL, made causal.
EncoderConfig EBranchformerConfig() {
  EncoderConfig config = AishellConfig();
  config.num_layers = 17;
  config.num_heads = 8;
  config.feed_forward.hidden_dim = 1024;
  config.convolution.reset();
  config.type = EncoderType::kBranchformer;
  config.branches = {ConvolutionType::kCausal, 1024, 31, false, Activation::kIdentity, 31};
  return config;
}

std::vector<float> RandomFeatures(int64_t count) {
  std::mt19937_64 random(1);
  return NormalValues(count, 1, &random);
}

// An encoder, and the state of each stream of a batch.
class EncoderStreams {
 public:
  EncoderStreams(const EncoderConfig& config, RandomWeights* weights, const EncoderBackend& backend,
                 int64_t num_streams)
      : encoder_(config, weights, backend),
        states_(static_cast<size_t>(num_streams), encoder_.InitialState()),
        features_(RandomFeatures(FramesOfNextChunk() * config.input_dim)) {}

  // Computes one chunk of each from feature frames.
  EncoderOutput Run() {
    const int64_t num_frames = FramesOfNextChunk();
    std::vector<EncoderSegment> segments;
    for (EncoderState& stream : states_) {
      segments.push_back({&stream, features_.data(), {num_frames, false}, kLeftContext});
    }
    return encoder_.Step(segments);
  }

 private:
  int64_t FramesOfNextChunk() const { return encoder_.FramesForChunk(states_[0], kChunkSize); }

  Encoder encoder_;
  std::vector<EncoderState> states_;
  std::vector<float> features_;
};

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
void RunWholeStep(benchmark::State& state, const EncoderConfig& encoder, kernels::MatmulType type,
                  const std::string& precision, int64_t num_streams) {
  ModelConfig config;
  config.encoder = encoder;
  config.vocabulary.vocab_size = kVocabSize;
  PartTimes times = {};
  RandomWeights weights(DataType::kFloat32);
  const auto backend =
      MakeTimedBackend(MakeCpuBackend(config.encoder, &weights, {type, false}), &times);
  const auto head =
      backend->MakeCtcHead(BindCtcHead(config.encoder.model_dim, kVocabSize, &weights));
  EncoderStreams streams(config.encoder, &weights, *backend, num_streams);
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

// A row of 512 values, as the norms of a layer read them.
template <class Norm>
void NormRows(benchmark::State& state, const Norm& normalize) {
  constexpr int64_t kRows = 64, kDim = 512;
  std::mt19937_64 random(1);
  const std::vector<float> x = NormalValues(kRows * kDim, 1, &random);
  std::vector<float> y(x.size());
  for (auto _ : state) {
    normalize(x.data(), kRows, kDim, y.data());
    benchmark::DoNotOptimize(y.data());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void LayerNormRows(benchmark::State& state) {
  const std::vector<float> ones(512, 1.0F);
  NormRows(state, [&](const float* x, int64_t rows, int64_t dim, float* y) {
    kernels::LayerNorm(x, rows, dim, {ones.data(), ones.data(), 1e-5F}, y);
  });
}

void BasicNormRows(benchmark::State& state) {
  NormRows(state, [](const float* x, int64_t rows, int64_t dim, float* y) {
    kernels::BasicNorm(x, rows, dim, 0.25F, y);
  });
}

void RegisterAll() {
  benchmark::RegisterBenchmark("norm/layer", LayerNormRows);
  benchmark::RegisterBenchmark("norm/basic", BasicNormRows);
  benchmark::RegisterBenchmark("feature_stream", FeatureFrames);
  benchmark::RegisterBenchmark("fbank", FbankFrames);
  using kernels::MatmulType;
  const std::vector<std::pair<std::string, MatmulType>> types = {
      {"float32", MatmulType::kFloat32},
      {"bfloat16", MatmulType::kBfloat16},
      {"int8", MatmulType::kInt8}};
  const std::vector<std::pair<std::string, EncoderConfig>> encoders = {
      {"", AishellConfig()}, {"e_branchformer/", EBranchformerConfig()}};
  for (const auto& [prefix, encoder] : encoders) {
    for (const auto& [precision, type] : types) {
      for (const int64_t num_streams : {1, 16}) {
        std::string name = prefix;
        name.append("whole_step/cpu/").append(precision).append("/");
        name.append(std::to_string(num_streams));
        benchmark::RegisterBenchmark(name.c_str(),
                                     [encoder = encoder, type = type, precision = precision,
                                      num_streams](benchmark::State& state) {
                                       RunWholeStep(state, encoder, type, precision, num_streams);
                                     });
      }
    }
  }
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  runnel::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
