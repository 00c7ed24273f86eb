#include "tools/reference/verification.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <utility>

#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "encoder/libtorch/operation_guard.h"
#include "encoder/libtorch/tensor_rows.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "tools/cli/run_in_threads.h"
#include "tools/reference/comparison.h"
#include "tools/reference/stream_runs.h"
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

// What TorchScriptModel::Forward gives for these encoder rows.
at::Tensor ScriptOutput(const ModelParts& parts, const at::Tensor& encoder_rows) {
  if (parts.ctc_head == nullptr) return encoder_rows;
  const at::Tensor heads_input = HeadsInput(parts, encoder_rows);
  const Matrix log_probs = parts.ctc_head->LogProbs(libtorch::View(heads_input));
  return libtorch::View(log_probs.rows()).clone();
}

}  // namespace

Verification::Verification(std::shared_ptr<const Model> model,
                           std::shared_ptr<const Model> by_libtorch, const std::string& model_path,
                           std::vector<float> samples, const VerificationOptions& options)
    : model_(std::move(model)),
      by_libtorch_(std::move(by_libtorch)),
      options_(options),
      settings_(SettingGrid(model_->parts().config)),
      samples_(std::move(samples)),
      features_(libtorch::View(ComputeFeatures(*model_, samples_).rows()).clone()),
      num_encoder_frames_(
          model_->parts().encoder.subsampling().NumEncoderFrames(features_.size(0))),
      tries_all_(OnePerChunkSize(settings_, options.seed)),
      chunked_(settings_.size()),
      whole_tokens_(settings_.size()),
      num_certain_tokens_(settings_.size()),
      checks_(MakeChecks()) {
  if (options.compare_torchscript) {
    script_.emplace(model_path, model_->parts().config.encoder,
                    libtorch::ScalarTypeOf(model_->parts().encoder.data_type()),
                    TorchScriptModel::Execution::kInterpreted,
                    model_->parts().ctc_head != nullptr ? TorchScriptModel::Output::kCtcLogProbs
                                                        : TorchScriptModel::Output::kEncoderFrames);
  }
  if (num_encoder_frames_ == 0) {
    throw std::runtime_error("the audio is too short for one encoder frame: " +
                             std::to_string(features_.size(0)) + " feature frames");
  }
  for (const StreamingSetting& setting : settings_) setting_lines_.push_back(setting.Name() + ":");
}

std::map<Verification::CheckIndex, Check> Verification::MakeChecks() const {
  const ModelParts& parts = model_->parts();
  const double tolerance = options_.tolerance;
  const double between = model_->is_bit_reproducible() ? 0.0 : tolerance;
  std::map<CheckIndex, Check> checks;
  const auto add = [&](CheckIndex index, const char* name, double allowed) {
    checks.emplace(index, Check(name, allowed));
  };
  add(kChunked, "chunk by chunk = whole under chunk mask", between);
  if (model_->streaming().window) {
    add(kWindows, "windows = whole utterances of their frames", between);
  }
  add(kPackets, "packets of random size = all samples at once", between * kSameComputation);
  add(kCopied, "copied midway = not copied", between * kSameComputation);
  add(kBatched, "in a batch of all settings = alone", between);
  if (parts.transducer) add(kTokens, "transducer tokens: streams = whole under mask", 0);
  if (by_libtorch_ != nullptr) {
    add(kLibTorch, "whole under chunk mask = LibTorch, with the same weights", tolerance);
  }
  if (!options_.compare_torchscript) return checks;
  const bool has_ctc = parts.ctc_head != nullptr;
  add(kForward,
      has_ctc ? "whole under chunk mask = TorchScript forward"
              : "whole under chunk mask = TorchScript encode",
      tolerance);
  add(kForwardChunk,
      has_ctc ? "chunk by chunk = TorchScript forward_chunk"
              : "chunk by chunk = TorchScript encode_chunk",
      tolerance);
  if (model_->streaming().window) {
    add(kScriptWindows,
        has_ctc ? "windows = TorchScript forward of their frames"
                : "windows = TorchScript encode of their frames",
        tolerance);
  }
  if (parts.prompt) add(kPrompt, "language prompt = TorchScript", tolerance);
  if (parts.transducer) {
    add(kPredictor, "state of the predictor = TorchScript", tolerance);
    add(kJoint, "predictor and joint network = TorchScript", tolerance);
  }
  if (!parts.attention_decoder) return checks;
  add(kDecoderLeft, "attention decoder, left to right = TorchScript", tolerance);
  if (parts.attention_decoder->config().right_layers > 0) {
    add(kDecoderRight, "attention decoder, right to left = TorchScript", tolerance);
  }
  return checks;
}

VerificationReport Verification::Report() const {
  VerificationReport report;
  report.num_settings = settings_.size();
  report.num_encoder_frames = num_encoder_frames_;
  for (const auto& [index, check] : checks_) report.checks.push_back(check);
  if (model_->parts().transducer != nullptr) {
    report.most_tokens = 0;
    for (const auto& tokens : whole_tokens_) {
      report.most_tokens = std::max(*report.most_tokens, tokens.size());
    }
  }
  report.most_uncompared_tokens = MostUncomparedTokens();
  report.setting_lines = setting_lines_;
  report.layer_errors = layer_errors_.errors();
  return report;
}

size_t Verification::MostUncomparedTokens() const {
  size_t most = 0;
  for (size_t i = 0; i < whole_tokens_.size(); ++i) {
    most = std::max(most, whole_tokens_[i].size() - num_certain_tokens_[i]);
  }
  return most;
}

void Verification::Run(const OnSetting& on_setting) {
  libtorch::UseOneThread();
  std::atomic<size_t> next{0};
  const auto work = [&] {
    libtorch::UseOneThread();
    for (size_t index = next++; index < settings_.size(); index = next++) {
      CompareWithOthers(index);
      if (options_.layer_by_layer) CompareLayers(index);
      const std::lock_guard<std::mutex> lock(mutex_);
      on_setting(settings_[index].Name(), settings_.size());
    }
  };
  RunInThreads(options_.num_threads, work, [&] { next = settings_.size(); });

  std::mt19937_64 random(options_.seed);
  const std::vector<at::Tensor> batched =
      RunBatched(model_->parts().encoder, features_, settings_, &random);
  for (size_t i = 0; i < settings_.size(); ++i) Record(kBatched, i, batched[i], chunked_[i]);
  if (model_->parts().transducer) CompareTokens(&random);
}

void Verification::CompareWithOthers(size_t index) {
  const Encoder& encoder = model_->parts().encoder;
  const StreamingSetting& setting = settings_[index];
  const at::Tensor chunked = RunChunked(encoder, features_, setting);
  chunked_[index] = chunked;
  at::Tensor whole = chunked;
  if (setting.right_context == StreamOptions::kNoRightContext) {
    whole = CompareChunks(index, chunked);
  } else if (!setting.cached_windows) {  // those are no whole utterances
    whole = CompareWindows(index, chunked);
  }
  if (!tries_all_[index]) return;
  CompareHeads(index, whole);
  std::mt19937_64 random(options_.seed + index);
  Record(kPackets, index,
         RunPackets(encoder, model_->parts().frame_extractor,
                    model_->parts().config.features.sample_scale, samples_, setting, &random),
         chunked);
  for (const at::Tensor& output : RunCopied(encoder, features_, setting, &random)) {
    Record(kCopied, index, output, chunked);
  }
}

at::Tensor Verification::CompareChunks(size_t index, const at::Tensor& chunked) {
  const StreamingSetting& setting = settings_[index];
  at::Tensor whole = RunUnderMask(model_->parts().encoder, features_, setting);
  Record(kChunked, index, chunked, whole);
  if (by_libtorch_ != nullptr) {
    Record(kLibTorch, index, whole,
           RunUnderMask(by_libtorch_->parts().encoder, features_, setting));
  }
  if (script_) {
    const at::Tensor frames = ScriptFeatures(features_, setting.chunk_size);
    Record(kForward, index, ScriptOutput(model_->parts(), whole),
           script_->Forward(frames, setting.chunk_size, setting.left_context));
    Record(kForwardChunk, index, ScriptOutput(model_->parts(), chunked),
           RunTorchScriptChunked(*script_, frames, setting));
  }
  return whole;
}

at::Tensor Verification::CompareWindows(size_t index, const at::Tensor& chunked) {
  constexpr StreamingSetting kWhole;
  const StreamingSetting& setting = settings_[index];
  const Encoder& encoder = model_->parts().encoder;
  const SubsamplingGeometry& geometry = encoder.subsampling();
  at::Tensor whole = RunWindows(geometry, features_, setting, [&](const at::Tensor& window) {
    return RunUnderMask(encoder, window, kWhole);
  });
  Record(kWindows, index, chunked, whole);
  if (script_) {
    Record(kScriptWindows, index, ScriptOutput(model_->parts(), chunked),
           RunWindows(geometry, features_, setting, [&](const at::Tensor& window) {
             return script_->Forward(ScriptFeatures(window, kWhole.chunk_size), kWhole.chunk_size,
                                     kWhole.left_context);
           }));
  }
  return whole;
}

void Verification::CompareHeads(size_t index, const at::Tensor& encoder_rows) {
  const ModelParts& parts = model_->parts();
  const at::Tensor heads_input = HeadsInput(parts, encoder_rows);
  if (parts.transducer) {
    std::vector<EmittedToken>& tokens = whole_tokens_[index];
    tokens = SearchWhole(*parts.transducer, heads_input);
    num_certain_tokens_[index] = tokens.size();
    if (!model_->is_bit_reproducible()) {
      num_certain_tokens_[index] =
          NumCertain(*parts.transducer, heads_input, tokens, kSameComputation * options_.tolerance);
    }
  }
  if (!script_) return;
  std::mt19937_64 random(options_.seed + index);
  if (parts.prompt) {
    for (const int64_t language : TwoLanguages(*parts.config.prompt)) {
      Record(kPrompt, index, ApplyPrompt(*parts.prompt, encoder_rows, language),
             script_->ApplyPrompt(encoder_rows, language));
    }
  }
  if (parts.transducer) {
    const TransducerConfig& config = parts.transducer->config();
    for (const auto& alignment :
         {whole_tokens_[index], RandomTokens(config, heads_input.size(0), &random)}) {
      const auto states = PredictorStates(*parts.transducer, alignment);
      const ScriptPredictor script = StepScript(*script_, config, alignment, states);
      Record(kPredictor, index, Memories(states), script.memories);
      Record(kJoint, index, JointLogProbs(*parts.transducer, heads_input, alignment, states),
             JointLogProbs(*script_, config, heads_input, alignment, script.outputs));
    }
  }
  if (parts.attention_decoder) {
    const AttentionDecoderConfig& config = parts.attention_decoder->config();
    const auto hypotheses = RandomHypotheses(config.vocab_size, &random);
    const DecoderScores actual = ScoreHypotheses(*parts.attention_decoder, heads_input, hypotheses);
    const DecoderScores expected = ScoreHypotheses(*script_, config, heads_input, hypotheses);
    Record(kDecoderLeft, index, actual.left, expected.left);
    if (config.right_layers > 0) Record(kDecoderRight, index, actual.right, expected.right);
  }
}

void Verification::CompareTokens(std::mt19937_64* random) {
  std::vector<size_t> indices;
  std::vector<StreamingSetting> settings;
  for (size_t i = 0; i < settings_.size(); ++i) {
    if (!tries_all_[i]) continue;
    indices.push_back(i);
    settings.push_back(settings_[i]);
  }
  const auto streamed = SearchStreams(model_, samples_, settings, random);
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::vector<EmittedToken>& whole = whole_tokens_[indices[i]];
    const size_t num_certain = num_certain_tokens_[indices[i]];
    const size_t num_equal = NumEqual(streamed[i], whole);
    const bool is_same =
        num_certain == whole.size() ? streamed[i] == whole : num_equal >= num_certain;
    const auto count = is_same ? 0.0 : static_cast<double>(NumDifferent(streamed[i], whole));
    Record(kTokens, indices[i], at::scalar_tensor(count), at::zeros({}));
  }
}

at::Tensor Verification::ScriptFeatures(const at::Tensor& features, int64_t chunk_size) const {
  const Normalization normalization = model_->parts().encoder.config().normalization;
  const bool outside =
      normalization == Normalization::kUtterance || normalization == Normalization::kRunning;
  if (!outside) return features;
  const Matrix rows =
      model_->parts().encoder.Normalize(features.data_ptr<float>(), features.size(0), chunk_size);
  return libtorch::View(rows.rows()).clone();
}

void Verification::CompareLayers(size_t index) {
  const StreamingSetting& setting = settings_[index];
  LayerRecorder whole;
  LayerRecorder chunked;
  if (setting.right_context != StreamOptions::kNoRightContext) return;  // windows overlap
  RunUnderMask(model_->parts().encoder, features_, setting, whole.Observer());
  RunChunked(model_->parts().encoder, features_, setting, chunked.Observer());
  const std::lock_guard<std::mutex> lock(mutex_);
  layer_errors_.Add(chunked, whole);
}

void Verification::Record(CheckIndex check, size_t index, const at::Tensor& actual,
                          const at::Tensor& expected) {
  constexpr std::array<const char*, kNumChecks> kNames = {
      "chunked",   "packets",       "copied",       "batched",        "tokens",
      "forward",   "forward_chunk", "windows",      "script_windows", "prompt",
      "predictor", "joint",         "decoder_left", "decoder_right",  "libtorch"};
  const std::lock_guard<std::mutex> lock(mutex_);
  const Difference difference = DifferenceBetween(actual, expected);
  checks_.at(check).Record(settings_[index].Name(), difference);
  setting_lines_[index] +=
      std::string(" ") + kNames[check] + " " + FormatError(difference.relative);
}

}  // namespace runnel
