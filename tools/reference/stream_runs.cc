#include "tools/reference/stream_runs.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "encoder/libtorch/tensor_rows.h"
#include "frontend/feature_stream.h"

namespace runnel {
namespace {

constexpr size_t kLongestPacket = 4000;  // samples

// Feeds known features to a stream, one chunk at a time. A copy continues independently.
class ChunkPlayer {
 public:
  ChunkPlayer(const Encoder& encoder, const at::Tensor& features, const StreamingSetting& setting)
      : encoder_(&encoder),
        features_(features),
        setting_(setting),
        state_(encoder.InitialState()) {}

  bool Done() const { return !NextChunk().has_value(); }

  // The next chunk, when not Done.
  EncoderSegment NextSegment() {
    const EncoderChunk chunk = *NextChunk();
    const float* frames = features_.data_ptr<float>() + next_frame_ * features_.size(1);
    next_frame_ += chunk.num_frames;
    return {&state_, frames, chunk, setting_.left_context, setting_.cached_windows};
  }

  void Keep(ConstRows rows) { outputs_.push_back(libtorch::View(rows).clone()); }
  at::Tensor Output() const { return at::cat(outputs_, 0); }

 private:
  std::optional<EncoderChunk> NextChunk() const {
    return encoder_->NextChunk(state_, setting_.chunk_size, features_.size(0) - next_frame_, true,
                               setting_.right_context);
  }

  const Encoder* encoder_;
  at::Tensor features_;
  StreamingSetting setting_;
  EncoderState state_;
  int64_t next_frame_ = 0;
  std::vector<at::Tensor> outputs_;
};

void StepTogether(const Encoder& encoder, const std::vector<ChunkPlayer*>& players,
                  const LayerObserver& observer = nullptr) {
  std::vector<EncoderSegment> segments;
  for (ChunkPlayer* player : players) segments.push_back(player->NextSegment());
  const EncoderOutput output = encoder.Step(segments, observer);
  int64_t row = 0;
  for (size_t i = 0; i < players.size(); ++i) {
    players[i]->Keep(output.rows.rows().Part(row, output.num_rows[i]));
    row += output.num_rows[i];
  }
}

}  // namespace

at::Tensor RunUnderMask(const Encoder& encoder, const at::Tensor& features,
                        const StreamingSetting& setting, const LayerObserver& observer) {
  const Matrix rows = encoder.ForwardUnderMask(features.data_ptr<float>(), features.size(0),
                                               setting.chunk_size, setting.left_context, observer);
  return libtorch::View(rows.rows()).clone();
}

at::Tensor RunWindows(const SubsamplingGeometry& geometry, const at::Tensor& features,
                      const StreamingSetting& setting,
                      const std::function<at::Tensor(const at::Tensor&)>& run_whole) {
  const int64_t total = geometry.NumEncoderFrames(features.size(0));
  std::vector<at::Tensor> outputs;
  for (int64_t begin = 0; begin < total; begin += setting.chunk_size) {
    const int64_t first = std::max<int64_t>(0, begin - setting.left_context);
    const int64_t last = begin + setting.chunk_size + setting.right_context - 1;
    const int64_t end_frame =
        std::min(features.size(0), last * geometry.rate() + geometry.right_context() + 1);
    const at::Tensor rows =
        run_whole(features.slice(0, first * geometry.rate(), end_frame).contiguous());
    const int64_t end = std::min(begin + setting.chunk_size, total);
    outputs.push_back(rows.slice(0, begin - first, end - first));
  }
  return at::cat(outputs, 0);
}

at::Tensor RunChunked(const Encoder& encoder, const at::Tensor& features,
                      const StreamingSetting& setting, const LayerObserver& observer) {
  ChunkPlayer player(encoder, features, setting);
  while (!player.Done()) StepTogether(encoder, {&player}, observer);
  return player.Output();
}

std::vector<at::Tensor> RunBatched(const Encoder& encoder, const at::Tensor& features,
                                   const std::vector<StreamingSetting>& settings,
                                   std::mt19937_64* random) {
  std::vector<ChunkPlayer> players;
  for (const StreamingSetting& setting : settings) players.emplace_back(encoder, features, setting);
  std::vector<ChunkPlayer*> unfinished;
  for (ChunkPlayer& player : players) unfinished.push_back(&player);
  while (!unfinished.empty()) {
    std::shuffle(unfinished.begin(), unfinished.end(), *random);
    const size_t count = 1 + (*random)() % unfinished.size();
    StepTogether(encoder, {unfinished.begin(), unfinished.begin() + static_cast<int64_t>(count)});
    unfinished.erase(std::remove_if(unfinished.begin(), unfinished.end(),
                                    [](const ChunkPlayer* player) { return player->Done(); }),
                     unfinished.end());
  }
  std::vector<at::Tensor> outputs;
  for (const ChunkPlayer& player : players) outputs.push_back(player.Output());
  return outputs;
}

std::vector<at::Tensor> RunCopied(const Encoder& encoder, const at::Tensor& features,
                                  const StreamingSetting& setting, std::mt19937_64* random) {
  ChunkPlayer original(encoder, features, setting);
  const int64_t frames_per_chunk =
      std::max<int64_t>(1, setting.chunk_size) * encoder.subsampling().rate();
  const int64_t num_chunks = features.size(0) / frames_per_chunk;
  const auto copy_at = static_cast<int64_t>((*random)() % static_cast<uint64_t>(num_chunks + 1));
  for (int64_t chunk = 0; chunk < copy_at && !original.Done(); ++chunk) {
    StepTogether(encoder, {&original});
  }
  ChunkPlayer copy = original;
  while (!original.Done()) {
    StepTogether(encoder, {&original});
    StepTogether(encoder, {&copy});
  }
  return {original.Output(), copy.Output()};
}

at::Tensor RunPackets(const Encoder& encoder,
                      const std::shared_ptr<const FrameExtractor>& extractor, float sample_scale,
                      const std::vector<float>& samples, const StreamingSetting& setting,
                      std::mt19937_64* random) {
  FeatureStream stream(extractor, sample_scale);
  EncoderState state = encoder.InitialState();
  std::vector<at::Tensor> outputs;
  const auto compute_ready_chunks = [&] {
    while (const auto chunk = encoder.NextChunk(state, setting.chunk_size, stream.NumFramesReady(),
                                                stream.finished(), setting.right_context)) {
      const int64_t num_ahead = chunk->num_ahead.value_or(0);
      const auto num_taken = static_cast<size_t>(chunk->num_frames);
      std::vector<float> frames((num_taken + static_cast<size_t>(num_ahead)) *
                                static_cast<size_t>(stream.dim()));
      stream.PopFrames(num_taken, frames.data());
      stream.PeekFrames(static_cast<size_t>(num_ahead),
                        frames.data() + num_taken * static_cast<size_t>(stream.dim()));
      const EncoderOutput output = encoder.Step(
          {{&state, frames.data(), *chunk, setting.left_context, setting.cached_windows}});
      outputs.push_back(libtorch::View(output.rows.rows()).clone());
    }
  };
  for (size_t begin = 0; begin < samples.size();) {
    const size_t size = std::min(1 + (*random)() % kLongestPacket, samples.size() - begin);
    stream.AcceptSamples(samples.data() + begin, size);
    begin += size;
    compute_ready_chunks();
  }
  stream.Finish();
  compute_ready_chunks();
  return at::cat(outputs, 0);
}

at::Tensor RunTorchScriptChunked(const TorchScriptModel& model, const at::Tensor& features,
                                 const StreamingSetting& setting) {
  const int64_t num_frames = features.size(0);
  TorchScriptModel::Caches caches = model.InitialCaches();
  std::vector<at::Tensor> outputs;
  for (int64_t offset = 0; offset < model.subsampling().NumEncoderFrames(num_frames);) {
    FrameRange frames = model.FramesOfChunk(offset, setting.chunk_size);
    const bool last = setting.chunk_size == -1 || frames.end > num_frames;
    if (last) frames.end = num_frames;
    outputs.push_back(model.ForwardChunk(features.slice(0, frames.begin, frames.end), offset, last,
                                         setting.left_context, &caches));
    offset += outputs.back().size(0);
  }
  return at::cat(outputs, 0);
}

}  // namespace runnel
