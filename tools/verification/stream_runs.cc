#include "tools/verification/stream_runs.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "frontend/feature_stream.h"

namespace runnel {
namespace {

constexpr size_t kLongestPacket = 4000;  // samples

// A stream that is fed one chunk of known features at a time. A copy continues on its own.
class ChunkPlayer {
 public:
  ChunkPlayer(const Encoder& encoder, const at::Tensor& features, const StreamingSetting& setting)
      : encoder_(&encoder),
        features_(features),
        chunk_size_(setting.chunk_size),
        state_(encoder.InitialState(setting.left_context)) {}

  bool Done() const { return !NextChunk().has_value(); }

  // The next chunk, when not Done.
  EncoderSegment NextSegment() {
    const EncoderChunk chunk = *NextChunk();
    const float* frames = features_.data_ptr<float>() + next_frame_ * features_.size(1);
    next_frame_ += chunk.num_frames;
    return {&state_, frames, chunk};
  }

  void Keep(const at::Tensor& rows) { outputs_.push_back(rows.clone()); }
  at::Tensor Output() const { return at::cat(outputs_, 0); }

 private:
  std::optional<EncoderChunk> NextChunk() const {
    return encoder_->NextChunk(state_, chunk_size_, features_.size(0) - next_frame_, true);
  }

  const Encoder* encoder_;
  at::Tensor features_;
  int64_t chunk_size_;
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
    players[i]->Keep(output.rows.narrow(0, row, output.num_rows[i]));
    row += output.num_rows[i];
  }
}

}  // namespace

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
  EncoderState state = encoder.InitialState(setting.left_context);
  std::vector<at::Tensor> outputs;
  const auto compute_ready_chunks = [&] {
    while (const auto chunk = encoder.NextChunk(state, setting.chunk_size, stream.NumFramesReady(),
                                                stream.finished())) {
      std::vector<float> frames(static_cast<size_t>(chunk->num_frames * stream.dim()));
      stream.PopFrames(static_cast<size_t>(chunk->num_frames), frames.data());
      outputs.push_back(encoder.Step({{&state, frames.data(), *chunk}}).rows);
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

}  // namespace runnel
