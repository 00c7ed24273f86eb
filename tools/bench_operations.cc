// bench_operations: the time of features and of whole steps at the sizes of an AISHELL Conformer,
// measured with Google Benchmark. `items_per_second` counts feature frames of `feature_stream`,
// `fbank` and `mfcc`, and chunks of one stream of `layers/whole_step/cpu/precision/streams`, the
// encoder and the CTC head. Its counters, listed at RunWholeStep, give the time of each part.
// `layers` is a name of AllMeasuredLayers. `piece/...` are operations that are no part of a step,
// or too small a one to be seen there: items are rows of 512 values, or hypotheses of a transducer.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encoder/activation.h"
#include "encoder/cpu/backend.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/encoder.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "frontend/feature_stream.h"
#include "frontend/features/fbank.h"
#include "frontend/features/frame_extractor.h"
#include "frontend/features/mfcc.h"
#include "runtime/model/model_config.h"
#include "runtime/transducer/transducer.h"
#include "runtime/transducer/transducer_config.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/measured_layers.h"
#include "tools/benchmark/part_timer.h"
#include "tools/benchmark/random/normal_values.h"
#include "tools/benchmark/random/weights.h"
#include "tools/cli/speech_noise.h"

namespace runnel {
namespace {

constexpr int kVocabSize = 4233;
constexpr int kSampleRateHz = 16000;
constexpr double kReadMs = 300;  // of reading, for its speed

std::vector<float> RandomFeatures(int64_t count) {
  std::mt19937_64 random(1);
  return NormalValues(count, 1, &random);
}

// An encoder, and the state of each stream of a batch.
class EncoderStreams {
 public:
  EncoderStreams(const MeasuredLayers& layers, RandomWeights* weights,
                 const EncoderBackend& backend, int64_t num_streams)
      : setting_(layers.setting),
        encoder_(layers.encoder, weights, backend),
        states_(static_cast<size_t>(num_streams), encoder_.InitialState()),
        features_(RandomFeatures(FramesOfNextChunk() * layers.encoder.input_dim)) {}

  // Computes one chunk of each from feature frames, or one whole utterance.
  EncoderOutput Run() {
    const bool whole = encoder_.config().NeedsWholeUtterance() != nullptr;
    if (whole) states_.assign(states_.size(), encoder_.InitialState());
    const int64_t num_frames = FramesOfNextChunk();
    std::vector<EncoderSegment> segments;
    for (EncoderState& stream : states_) {
      segments.push_back({&stream, features_.data(), {num_frames, whole}, setting_.left_context});
    }
    return encoder_.Step(segments);
  }

 private:
  int64_t FramesOfNextChunk() const {
    return encoder_.FramesForChunk(states_[0], setting_.chunk_size);
  }

  StreamingSetting setting_;
  Encoder encoder_;
  std::vector<EncoderState> states_;
  std::vector<float> features_;
};

// Medians of the milliseconds of each part of a step.
class PartMedians {
 public:
  void Add(const PartTimes& times) {
    for (size_t part = 0; part < kNumModelParts; ++part) all_[part].push_back(times[part]);
  }
  double Of(size_t part) const { return Summarize(all_[part]).median_ms; }

 private:
  std::array<std::vector<double>, kNumModelParts> all_;
};

// Counters of kMeasuredFrames encoder frames of one stream; P is a name of kModelPartNames:
//   step_ms, P_ms            medians: the whole step, and the modules of a part within it
//   attention_matmuls_ms     median: the matmuls of kAttentionPart when all large matmuls run alone
//   P_operations, scores_operations
//   P_weight_bytes           its share of those of the large matmuls, read once in a step
//   cache_bytes              cached keys and values that are read, float32
//   read_gb_per_second       MemoryBandwidth of as many bytes as a step reads
void RunWholeStep(benchmark::State& state, const MeasuredLayers& layers, kernels::MatmulType type,
                  const std::string& precision, int64_t num_streams) {
  ModelConfig config;
  config.encoder = layers.encoder;
  config.vocabulary.vocab_size = kVocabSize;
  const StreamingSetting& setting = layers.setting;
  PartTimes times = {};
  RandomWeights weights(DataType::kFloat32);
  const auto backend =
      MakeTimedBackend(MakeCpuBackend(config.encoder, &weights, {type, false}), &times);
  const auto head =
      backend->MakeCtcHead(BindCtcHead(config.encoder.model_dim, kVocabSize, &weights));
  EncoderStreams streams(layers, &weights, *backend, num_streams);
  const auto run = [&] {
    return MillisecondsOf(
        [&] { benchmark::DoNotOptimize(head->LogProbs(streams.Run().rows.rows())); });
  };
  for (int64_t i = 0; i <= 2 * setting.left_context / setting.chunk_size; ++i) run();
  std::vector<double> steps;
  PartMedians parts;
  for (auto _ : state) {
    times = {};
    steps.push_back(run());
    parts.Add(times);
  }
  state.SetItemsProcessed(state.iterations() * num_streams);

  const auto matmuls = LargeMatmuls(config, MeasuredHead::kCtc, setting.chunk_size, num_streams);
  auto timer = MatmulTimer::Make(precision, matmuls);
  timer->Run();
  PartMedians alone;
  for (int64_t i = 0; i < std::max<int64_t>(5, state.iterations()); ++i) alone.Add(timer->Run());

  const OperationCount operations = OperationsPerChunk(config, MeasuredHead::kCtc, setting);
  const PartCounts num_weights = NumWeights(matmuls);
  const int64_t cache_bytes =
      NumCachedValues(config.encoder, setting) * static_cast<int64_t>(sizeof(float));
  int64_t step_bytes = num_streams * cache_bytes;
  for (const int64_t num : num_weights) step_bytes += num * kernels::ValueBytes(type);
  state.counters["read_gb_per_second"] = MemoryBandwidth(step_bytes, kReadMs);

  const double chunks = static_cast<double>(setting.chunk_size) / kMeasuredFrames;  // of a stream
  const auto set = [&state](const std::string& name, auto value, double num_chunks) {
    state.counters[name] = static_cast<double>(value) / num_chunks;
  };
  const double step_chunks = chunks * static_cast<double>(num_streams);
  set("step_ms", Summarize(steps).median_ms, step_chunks);
  set("attention_matmuls_ms", alone.Of(kAttentionPart), step_chunks);
  set("scores_operations", operations.attention, chunks);
  set("cache_bytes", cache_bytes, chunks);
  for (size_t part = 0; part < kNumModelParts; ++part) {
    const std::string name = kModelPartNames[part];
    set(name + "_ms", parts.Of(part), step_chunks);
    set(name + "_operations", operations.parts[part], chunks);
    set(name + "_weight_bytes", num_weights[part] * kernels::ValueBytes(type), step_chunks);
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

// One frame, from its samples.
void Frames(benchmark::State& state, const FrameExtractor& extractor) {
  std::vector<float> samples = SpeechShapedNoise(10, kSampleRateHz, 1);
  for (float& sample : samples) sample *= 32768;
  std::vector<float> features(static_cast<size_t>(extractor.dim()));
  FrameScratch scratch;
  const auto last = static_cast<int64_t>(samples.size()) - extractor.frame_length();
  int64_t frame = 0;
  for (auto _ : state) {
    extractor.ComputeFrame(samples.data() + frame * extractor.frame_shift() % last, frame, &scratch,
                           features.data());
    benchmark::DoNotOptimize(features.data());
    ++frame;
  }
  state.SetItemsProcessed(frame);
}

// 80 log mel energies.
void FbankFrames(benchmark::State& state) {
  FbankOptions options;
  options.num_mel_bins = 80;
  Frames(state, Fbank(options));
}

// 80 cepstral coefficients, of as many log mel energies.
void MfccFrames(benchmark::State& state) {
  MfccOptions options;
  options.num_mel_bins = 80;
  options.num_ceps = 80;
  Frames(state, Mfcc(options));
}

// The counters of an operation whose floor is reported: of one item, its operations, and its share
// of the bytes that are read or written once for `num_items` items; and the speed of reading these.
void SetFloor(benchmark::State& state, int64_t num_items, int64_t operations, int64_t num_bytes) {
  state.SetItemsProcessed(state.iterations() * num_items);
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["bytes"] = static_cast<double>(num_bytes) / static_cast<double>(num_items);
  state.counters["read_gb_per_second"] = MemoryBandwidth(num_bytes, kReadMs);
}

// `rows` rows of 512 values, read and written.
template <class Function>
void ValueRows(benchmark::State& state, int64_t rows, const Function& function) {
  constexpr int64_t kDim = 512;
  std::mt19937_64 random(1);
  const std::vector<float> x = NormalValues(rows * kDim, 1, &random);
  std::vector<float> y = x;
  for (auto _ : state) {
    function(x.data(), rows, kDim, y.data());
    benchmark::DoNotOptimize(y.data());
  }
  SetFloor(state, rows, 0, 2 * rows * kDim * static_cast<int64_t>(sizeof(float)));
}

constexpr int64_t kRows = 64;

void LayerNormRows(benchmark::State& state) {
  const std::vector<float> ones(512, 1.0F);
  ValueRows(state, kRows, [&](const float* x, int64_t rows, int64_t dim, float* y) {
    kernels::LayerNorm(x, rows, dim, {ones.data(), ones.data(), 1e-5F}, y);
  });
}

void BasicNormRows(benchmark::State& state) {
  ValueRows(state, kRows, [](const float* x, int64_t rows, int64_t dim, float* y) {
    kernels::BasicNorm(x, rows, dim, 0.25F, y);
  });
}

void ActivatedRows(benchmark::State& state, Activation activation) {
  ValueRows(state, kRows, [activation](const float* x, int64_t rows, int64_t dim, float* y) {
    std::copy(x, x + rows * dim, y);  // in place, values would grow or vanish
    kernels::Activate(activation, rows * dim, y);
  });
}

// The stateless transducer of icefall's recipes, in int8, and hypotheses of it.
class StatelessTransducer {
 public:
  static constexpr int64_t kDim = 512, kContextSize = 2, kGroups = 128;
  static constexpr int kTokens = 500;

  explicit StatelessTransducer(int64_t num_hypotheses) {
    RandomWeights weights(DataType::kFloat32);
    EncoderConfig encoder;
    encoder.model_dim = kDim;
    encoder.num_heads = 8;
    encoder.position = NoPosition();
    const auto backend = MakeCpuBackend(encoder, &weights, {kernels::MatmulType::kInt8, false});
    TransducerConfig config;
    config.vocab_size = kTokens;
    ConvPredictorConfig predictor;
    predictor.embedding_dim = kDim;
    predictor.context_size = kContextSize;
    predictor.groups = kGroups;
    config.predictor = predictor;
    config.joint = {kDim, true, std::nullopt, Activation::kTanh};
    transducer_ = std::make_unique<Transducer>(config, kDim, *backend, &weights);
    const auto count = static_cast<size_t>(num_hypotheses);
    steps_.assign(count, {transducer_->Start().get(), 1});
    encoder_row_ = std::make_unique<const Matrix>(transducer_->Start()->input.rows());
    queries_.assign(count, {encoder_row_->rows(), transducer_->Start().get()});
  }

  void Advance() const { benchmark::DoNotOptimize(transducer_->Advance(steps_)); }
  void Score() const { benchmark::DoNotOptimize(transducer_->LogProbs(queries_)); }

 private:
  std::unique_ptr<const Transducer> transducer_;
  std::unique_ptr<const Matrix> encoder_row_;
  std::vector<TokenStep> steps_;
  std::vector<JointQuery> queries_;
};

// A token of each of 16 hypotheses: the convolution, and the linear layer before the joint network.
void AdvanceStateless(benchmark::State& state) {
  constexpr int64_t kHypotheses = 16;
  using Sizes = StatelessTransducer;
  const StatelessTransducer transducer(kHypotheses);
  for (auto _ : state) transducer.Advance();
  constexpr int64_t kWeights =
      Sizes::kDim * (Sizes::kContextSize * Sizes::kDim / Sizes::kGroups + Sizes::kDim);
  SetFloor(state, kHypotheses, 2 * kWeights, kWeights);
}

// A frame of each of 16 hypotheses.
void ScoreStateless(benchmark::State& state) {
  constexpr int64_t kHypotheses = 16;
  using Sizes = StatelessTransducer;
  const StatelessTransducer transducer(kHypotheses);
  for (auto _ : state) transducer.Score();
  constexpr int64_t kWeights = Sizes::kDim * Sizes::kTokens;
  SetFloor(state, kHypotheses, 2 * kWeights, kWeights);
}

void RegisterAll() {
  benchmark::RegisterBenchmark("piece/layer_norm", LayerNormRows);
  benchmark::RegisterBenchmark("piece/basic_norm", BasicNormRows);
  benchmark::RegisterBenchmark("piece/swish", ActivatedRows, Activation::kSwish);
  benchmark::RegisterBenchmark("piece/double_swish", ActivatedRows, Activation::kDoubleSwish);
  benchmark::RegisterBenchmark("piece/stateless_predictor", AdvanceStateless);
  benchmark::RegisterBenchmark("piece/stateless_joint", ScoreStateless);
  benchmark::RegisterBenchmark("feature_stream", FeatureFrames);
  benchmark::RegisterBenchmark("fbank", FbankFrames);
  benchmark::RegisterBenchmark("mfcc", MfccFrames);
  using kernels::MatmulType;
  const std::vector<std::pair<std::string, MatmulType>> types = {
      {"float32", MatmulType::kFloat32},
      {"bfloat16", MatmulType::kBfloat16},
      {"int8", MatmulType::kInt8}};
  for (const MeasuredLayers& layers : AllMeasuredLayers()) {
    for (const auto& [precision, type] : types) {
      for (const int64_t num_streams : {1, 16}) {
        std::string name = layers.name;
        name.append("/whole_step/cpu/").append(precision).append("/");
        name.append(std::to_string(num_streams));
        benchmark::RegisterBenchmark(name.c_str(),
                                     [layers = layers, type = type, precision = precision,
                                      num_streams](benchmark::State& state) {
                                       RunWholeStep(state, layers, type, precision, num_streams);
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
