// dump_encoder: what the encoder makes of a recording, chunk by chunk, as a NumPy file.
#include <ATen/core/Tensor.h>
#include <gflags/gflags.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/kernels/scratch.h"
#include "runtime/ctc_head.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/threads.h"
#include "tools/command_line.h"
#include "tools/feature_source.h"
#include "tools/model_flags.h"
#include "tools/npy.h"
#include "tools/output_check.h"
#include "tools/tool_main.h"

DEFINE_string(wav, "", "Audio file; - is standard input.");
DEFINE_string(features, "", "NumPy file with features, float32 or float64, (frames, dim).");
DEFINE_int32(channel, -1, "Audio channel to use, counted from 0; -1: the mean of all.");
DEFINE_int64(
    chunk_size, runnel::StreamOptions::kModelDefault,
    "Encoder frames computed at a time; -1: the whole utterance; -2: as the model recommends.");
DEFINE_int64(left_context, runnel::StreamOptions::kModelDefault,
             "Encoder frames before a chunk that it sees; -1: all; -2: as the model recommends.");
DEFINE_string(
    output, "",
    "NumPy file to write: (encoder frames, model_dim), or with --log_probs (encoder frames, "
    "vocab_size).");
DEFINE_bool(log_probs, false, "Write the CTC log probabilities instead of the encoder's output.");
DEFINE_string(caches, "",
              "NumPy file to write as well: what the layers remember after the last chunk, "
              "(rows, model_dim): of each layer the keys, the values, then the gated frames that "
              "the convolution reads again.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(dump_encoder runs a model's encoder over one recording and writes what comes out.

  dump_encoder --model=M.pt (--wav=a.wav | --features=x.npy) --output=y.npy [flags]

Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  dump_encoder --model=models/digits/digits.pt --wav=a.wav --output=y.npy
  dump_encoder --model=models/digits/digits.pt --wav=a.wav --log_probs --output=y.npy
  dump_features --model=models/digits/digits.pt --wav=a.wav --output=x.npy
  dump_encoder --model=models/digits/digits.pt --features=x.npy --chunk_size=8 --left_context=32 \
      --output=y.npy
  python3 -c 'import numpy; print(numpy.load("y.npy").shape)'
)";

void CheckFlags() {
  RequireFlag("model", kModelFile);
  RequireFlag("output", kNpyFile);
  RequireEither("wav", "features");
  RequireRange("channel", FLAGS_channel, -1, kMaxChannel);
  if (FLAGS_wav.empty() && IsFlagGiven("channel")) {
    throw std::invalid_argument("--channel cannot be given with --features, which have none");
  }
  std::vector<std::string> inputs = ModelInputFiles();
  inputs.insert(inputs.end(), {FLAGS_wav, FLAGS_features});
  CheckOutputIsNoInput(FLAGS_output, inputs);
  CheckOutputCanBeRewritten(FLAGS_output);
  inputs.push_back(FLAGS_output);
  CheckOutputIsNoInput(FLAGS_caches, inputs);
  if (!FLAGS_caches.empty() && FLAGS_caches == FLAGS_output) {
    throw std::invalid_argument("--caches is " + FLAGS_caches +
                                ", expected another file than --output");
  }
  CheckOutputCanBeRewritten(FLAGS_caches);
}

std::unique_ptr<FeatureSource> OpenFeatures(const Model& model) {
  if (FLAGS_wav.empty()) {
    return std::make_unique<NpyFeatureSource>(FLAGS_features, model.frame_extractor()->dim());
  }
  return std::make_unique<AudioFeatureSource>(FLAGS_wav, FLAGS_channel, model.frame_extractor(),
                                              model.config().features.sample_scale);
}

void Append(const at::Tensor& rows, NpyWriter* writer) {
  const at::Tensor values = rows.cpu().contiguous();
  if (values.scalar_type() == at::kDouble) {
    writer->Append(values.data_ptr<double>(), values.size(0));
  } else {
    writer->Append(values.data_ptr<float>(), values.size(0));
  }
}

// Feeds the encoder what it needs for one chunk after the other; returns what it remembers then.
EncoderState DumpChunks(const Model& model, const StreamOptions& options, FeatureSource* source,
                        NpyWriter* writer) {
  const Encoder& encoder = model.encoder();
  EncoderState state = encoder.InitialState(options.left_context);
  for (bool ended = false;;) {
    const int64_t wanted = options.chunk_size == StreamOptions::kWholeUtterance
                               ? std::numeric_limits<int64_t>::max()
                               : encoder.FramesForChunk(state, options.chunk_size);
    const std::vector<float> frames = ended ? std::vector<float>() : source->ReadVector(wanted);
    const int64_t num_frames = static_cast<int64_t>(frames.size()) / source->dim();
    ended = num_frames < wanted;
    const auto chunk = encoder.NextChunk(state, options.chunk_size, num_frames, ended);
    if (!chunk) return state;
    const at::Tensor rows = encoder.Step({{&state, frames.data(), *chunk}}).rows;
    Append(FLAGS_log_probs ? model.ctc_head().LogProbs(rows) : rows, writer);
  }
}

void Append(const FrameBuffer& buffer, NpyWriter* writer) { Append(buffer.Rows(), writer); }

void Append(const RowRing& ring, NpyWriter* writer) {
  std::vector<const float*> rows(static_cast<size_t>(ring.size()));
  kernels::Scratch scratch;
  ring.Collect(&scratch, rows.data());
  for (const float* row : rows) writer->Append(row, 1);
}

void DumpCaches(const EncoderState& state, int64_t model_dim, NpyType type) {
  NpyWriter writer(FLAGS_caches, model_dim, type);
  std::visit(
      [&writer](const auto& layers) {
        for (const auto& layer : layers) {
          Append(layer.keys, &writer);
          Append(layer.values, &writer);
          Append(layer.cnn_cache, &writer);
        }
      },
      state.layers);
  writer.Close();
}

int Run(Console* console) {
  CheckFlags();
  SetThreadsPerOperation(1);
  const std::shared_ptr<const Model> model = LoadModel();
  // Checks the sizes and resolves the model's defaults.
  const StreamOptions options =
      Stream(model, {FLAGS_chunk_size, FLAGS_left_context, SearchOptions()}).options();
  const std::unique_ptr<FeatureSource> source = OpenFeatures(*model);
  const ModelConfig& config = model->config();
  const NpyType type =
      model->encoder().dtype() == at::kDouble ? NpyType::kFloat64 : NpyType::kFloat32;
  NpyWriter writer(FLAGS_output, FLAGS_log_probs ? config.ctc.vocab_size : config.encoder.model_dim,
                   type);
  const EncoderState state = DumpChunks(*model, options, source.get(), &writer);
  writer.Close();
  if (!FLAGS_caches.empty()) DumpCaches(state, config.encoder.model_dim, type);
  console->Info(FLAGS_output + ": " + std::to_string(writer.num_rows()) + " encoder frames");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  return runnel::ToolMain(argc, argv,
                          {"dump_encoder", runnel::kUsage, {__FILE__, runnel::kModelFlagsSource}},
                          runnel::Run);
}
