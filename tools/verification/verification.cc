#include "tools/verification/verification.h"

#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <utility>

#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "encoder/libtorch/tensor_rows.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "tools/cli/run_in_threads.h"
#include "tools/verification/stream_runs.h"
#include "tools/verification/whole_utterance.h"

namespace runnel {
namespace {

// The share of the tolerance for packets and copies, which repeat the same operations.
constexpr double kSameComputation = 0.1;

// True for one setting of each chunk size, chosen at random. Settings come ordered by chunk size.
std::vector<bool> OnePerChunkSize(const std::vector<StreamingSetting>& settings, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> chosen(settings.size());
  for (size_t begin = 0; begin < settings.size();) {
    size_t end = begin;
    while (end < settings.size() && settings[end].chunk_size == settings[begin].chunk_size) ++end;
    chosen[begin + random() % (end - begin)] = true;
    begin = end;
  }
  return chosen;
}

// In the order of Verification::CheckIndex.
std::vector<Check> MakeChecks(double tolerance, bool is_bit_reproducible) {
  const double between = is_bit_reproducible ? 0.0 : tolerance;
  return {{"chunk by chunk = whole under chunk mask", between},
          {"packets of random size = all samples at once", between * kSameComputation},
          {"copied midway = not copied", between * kSameComputation},
          {"in a batch of all settings = alone", between},
          {"whole under chunk mask = TorchScript forward", tolerance},
          {"chunk by chunk = TorchScript forward_chunk", tolerance}};
}

at::Tensor LogProbs(const CtcHead& ctc_head, const at::Tensor& encoder_rows) {
  const Matrix log_probs = ctc_head.LogProbs(libtorch::View(encoder_rows));
  return libtorch::View(log_probs.rows()).clone();
}

}  // namespace

Verification::Verification(std::shared_ptr<const Model> model, const std::string& model_path,
                           std::vector<float> samples, const VerificationOptions& options)
    : model_(std::move(model)),
      options_(options),
      settings_(SettingGrid(model_->parts().config)),
      samples_(std::move(samples)),
      features_(libtorch::View(ComputeFeatures(*model_, samples_).rows()).clone()),
      num_encoder_frames_(
          model_->parts().encoder.subsampling().NumEncoderFrames(features_.size(0))),
      tries_packets_(OnePerChunkSize(settings_, options.seed)),
      chunked_(settings_.size()),
      checks_(MakeChecks(options.tolerance, model_->is_bit_reproducible())) {
  if (options.compare_torchscript) {
    script_.emplace(model_path, model_->parts().config.encoder,
                    libtorch::ScalarTypeOf(model_->parts().encoder.data_type()),
                    TorchScriptModel::Execution::kInterpreted);
  } else {
    checks_.erase(checks_.begin() + kForward, checks_.end());
  }
  if (num_encoder_frames_ == 0) {
    throw std::runtime_error("the audio is too short for one encoder frame: " +
                             std::to_string(features_.size(0)) + " feature frames");
  }
  for (const StreamingSetting& setting : settings_) setting_lines_.push_back(setting.Name() + ":");
}

void Verification::Run(const std::function<void(const std::string& name)>& on_setting) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t index = next++; index < settings_.size(); index = next++) {
      CompareWithOthers(index);
      if (options_.layer_by_layer) CompareLayers(index);
      const std::lock_guard<std::mutex> lock(mutex_);
      on_setting(settings_[index].Name());
    }
  };
  RunInThreads(options_.num_threads, work, [&] { next = settings_.size(); });

  std::mt19937_64 random(options_.seed);
  const std::vector<at::Tensor> batched =
      RunBatched(model_->parts().encoder, features_, settings_, &random);
  for (size_t i = 0; i < settings_.size(); ++i) Record(kBatched, i, batched[i], chunked_[i]);
}

void Verification::CompareWithOthers(size_t index) {
  const Encoder& encoder = model_->parts().encoder;
  const CtcHead& ctc_head = model_->parts().RequireCtcHead();
  const StreamingSetting& setting = settings_[index];
  const at::Tensor whole = RunUnderMask(encoder, features_, setting);
  const at::Tensor chunked = RunChunked(encoder, features_, setting);
  chunked_[index] = chunked;
  Record(kChunked, index, chunked, whole);
  if (script_) {
    const at::Tensor frames = ScriptFeatures(setting);
    Record(kForward, index, LogProbs(ctc_head, whole),
           script_->Forward(frames, setting.chunk_size, setting.left_context));
    Record(kForwardChunk, index, LogProbs(ctc_head, chunked),
           RunTorchScriptChunked(*script_, frames, setting));
  }
  if (!tries_packets_[index]) return;
  std::mt19937_64 random(options_.seed + index);
  Record(kPackets, index,
         RunPackets(encoder, model_->parts().frame_extractor,
                    model_->parts().config.features.sample_scale, samples_, setting, &random),
         chunked);
  for (const at::Tensor& output : RunCopied(encoder, features_, setting, &random)) {
    Record(kCopied, index, output, chunked);
  }
}

at::Tensor Verification::ScriptFeatures(const StreamingSetting& setting) const {
  const Normalization normalization = model_->parts().encoder.config().normalization;
  const bool outside =
      normalization == Normalization::kUtterance || normalization == Normalization::kRunning;
  if (!outside) return features_;
  const Matrix rows = model_->parts().encoder.Normalize(features_.data_ptr<float>(),
                                                        features_.size(0), setting.chunk_size);
  return libtorch::View(rows.rows()).clone();
}

void Verification::CompareLayers(size_t index) {
  const StreamingSetting& setting = settings_[index];
  LayerRecorder whole;
  LayerRecorder chunked;
  RunUnderMask(model_->parts().encoder, features_, setting, whole.Observer());
  RunChunked(model_->parts().encoder, features_, setting, chunked.Observer());
  const std::lock_guard<std::mutex> lock(mutex_);
  layer_errors_.Add(chunked, whole);
}

void Verification::Record(CheckIndex check, size_t index, const at::Tensor& actual,
                          const at::Tensor& expected) {
  constexpr std::array<const char*, kNumChecks> kNames = {"chunked", "packets", "copied",
                                                          "batched", "forward", "forward_chunk"};
  const std::lock_guard<std::mutex> lock(mutex_);
  const Difference difference = checks_[check].Compare(settings_[index].Name(), actual, expected);
  setting_lines_[index] +=
      std::string(" ") + kNames[check] + " " + FormatError(difference.relative);
}

}  // namespace runnel
