// dump_encoder: writes the output of the encoder for a recording, chunk by chunk, to a NumPy file.
#include <gflags/gflags.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "runtime/model.h"
#include "runtime/model/encode_chunks.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/feature_source.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/npy.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"

DEFINE_string(wav, "", "Audio file; -: standard input.");
DEFINE_string(features, "", "NumPy file with features, float32 or float64, (frames, dim).");
DEFINE_int64(
    chunk_size, runnel::StreamOptions::kModelDefault,
    "Encoder frames computed at a time; -1: the whole utterance; -2: as the model recommends.");
DEFINE_int64(
    left_context, runnel::StreamOptions::kModelDefault,
    "Encoder frames before a chunk that it attends to; -1: all; -2: as the model recommends.");
DEFINE_int64(
    right_context, runnel::StreamOptions::kModelDefault,
    "Of an offline model: encoder frames after a chunk, with which it is computed anew in a "
    "window; -1: none; -2: 0.64 s of audio where the model needs windows.");
DEFINE_bool(cached_windows, false,
            "Of windows: compute the left context once, and not anew in each window.");
DEFINE_string(
    output, "",
    "NumPy file to write: (encoder frames, model_dim), or with --log_probs (encoder frames, "
    "vocab_size).");
DEFINE_bool(log_probs, false, "Write the CTC log probabilities instead of the encoder's output.");
DEFINE_string(
    caches, "",
    "Second NumPy file to write: the caches after the last chunk, (rows, model_dim). For "
    "each layer the keys, the values, then cnn_cache, the gated frames of the convolution.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(dump_encoder runs the encoder of a model over one recording and writes its output.

  dump_encoder MODEL (FILE | --features=x.npy) --output=y.npy [flags]

Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  dump_encoder models/digits/digits.pt a.wav --output=y.npy
  dump_encoder models/digits/digits.pt a.wav --log_probs --output=y.npy
  dump_features a.wav --model=models/digits/digits.pt --output=x.npy
  dump_encoder models/digits/digits.pt --features=x.npy --chunk_size=8 --left_context=32 \
      --output=y.npy
  python3 -c 'import numpy; print(numpy.load("y.npy").shape)'
)";

void CheckFlags() {
  RequireFlag("model", kModelFile);
  RequireFlag("output", kNpyFile);
  RequireEither("wav", "features");
  if (FLAGS_wav.empty()) RequireNoAudioFlags("--features, which have none");
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
    return std::make_unique<NpyFeatureSource>(FLAGS_features, model.parts().frame_extractor->dim());
  }
  return std::make_unique<AudioFeatureSource>(FLAGS_wav, AudioOptionsFromFlags(),
                                              model.parts().frame_extractor,
                                              model.parts().config.features.sample_scale);
}

void Append(ConstRows rows, NpyWriter* writer) {
  if (rows.type == DataType::kFloat64) {
    writer->Append(rows.float64(), rows.count);
  } else {
    writer->Append(rows.float32(), rows.count);
  }
}

// Computes one chunk after another. Returns the state after the last one.
EncoderState DumpChunks(const ModelParts& model, const StreamOptions& options,
                        FeatureSource* source, NpyWriter* writer) {
  return EncodeChunks(
      model,
      {options.chunk_size, options.left_context, options.right_context, options.cached_windows},
      [source](int64_t max_frames) { return source->ReadVector(max_frames); },
      [&model, writer](Matrix rows) {
        if (FLAGS_log_probs) {
          const Matrix heads_input = model.HeadsInput(std::move(rows));
          rows = model.RequireCtcHead().LogProbs(heads_input.rows());
        }
        Append(std::as_const(rows).rows(), writer);
      });
}

void Append(const RowRing& ring, NpyWriter* writer) {
  std::vector<float> widened(static_cast<size_t>(ring.dim()));
  for (int64_t i = 0; i < ring.size(); ++i) {
    if (ring.type() == DataType::kBfloat16) {
      kernels::WidenBfloat16(static_cast<const uint16_t*>(ring.Row(i)), ring.dim(), widened.data());
      writer->Append(widened.data(), 1);
    } else {
      Append(ConstRows{ring.type(), ring.Row(i), 1, ring.dim()}, writer);
    }
  }
}

// Whether the rows of all caches have model_dim values.
bool HasRowsOfOneSize(const EncoderConfig& encoder) {
  for (int layer = 0; layer < encoder.num_layers; ++layer) {
    if (encoder.group_size(layer) > 1) return false;
  }
  return !encoder.branches;
}

void DumpCaches(const EncoderState& state, int64_t model_dim, NpyType type) {
  NpyWriter writer(FLAGS_caches, model_dim, type);
  for (const LayerState& layer : state.layers) {
    Append(layer.keys, &writer);
    Append(layer.values, &writer);
    Append(layer.cnn_cache, &writer);
  }
  writer.Close();
}

int Run(Console* console) {
  CheckFlags();
  const std::shared_ptr<const Model> model = LoadModel();
  // Checks the sizes and resolves the model's defaults.
  StreamOptions options;
  options.chunk_size = FLAGS_chunk_size;
  options.left_context = FLAGS_left_context;
  options.right_context = FLAGS_right_context;
  options.cached_windows = FLAGS_cached_windows;
  if (LongestWholeS(*model, options)) options.chunk_size = StreamOptions::kWholeUtterance;
  options = Stream(model, options).options();
  const std::unique_ptr<FeatureSource> source = OpenFeatures(*model);
  const ModelConfig& config = model->parts().config;
  if (!FLAGS_caches.empty() && !HasRowsOfOneSize(config.encoder)) {
    throw std::invalid_argument(
        "--caches is set, but the caches of this model have rows of several sizes; expected a "
        "Conformer or Transformer without groups of frames");
  }
  if (!FLAGS_caches.empty() && options.right_context != StreamOptions::kNoRightContext &&
      !options.cached_windows) {
    throw std::invalid_argument(
        "--caches is set with --right_context=" + std::to_string(options.right_context) +
        ", but windows have no caches; expected one of them");
  }
  const NpyType type = model->parts().encoder.data_type() == DataType::kFloat64 ? NpyType::kFloat64
                                                                                : NpyType::kFloat32;
  NpyWriter writer(FLAGS_output,
                   FLAGS_log_probs ? config.vocabulary.vocab_size : config.encoder.model_dim, type);
  const EncoderState state = DumpChunks(model->parts(), options, source.get(), &writer);
  writer.Close();
  if (!FLAGS_caches.empty()) DumpCaches(state, config.encoder.model_dim, type);
  for (const std::string& warning : source->Warnings()) console->Info(warning);
  console->Info(FLAGS_output + ": " + std::to_string(writer.num_rows()) + " encoder frames");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"dump_encoder",
                    runnel::kUsage,
                    {{__FILE__}, runnel::kAudioFlagsSource, runnel::kModelFlagsSource},
                    {"model", "wav", "features", "output", "log_probs"},
                    {"model", "wav"}},
                   runnel::Run);
}
