#include "tools/decode/batch_decoder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "frontend/audio_source.h"

namespace runnel {
namespace {

// Reading from a pipe waits for a whole block, so the block bounds the delay of partial results.
constexpr int kBlocksPerSecond = 20;

}  // namespace

struct BatchDecoder::Slot {
  Slot(size_t item, const Recording& recording, const std::shared_ptr<const Model>& model,
       const BatchDecoderOptions& options)
      : index(item),
        audio(recording.path, model->sample_rate_hz(), AudioReaderOptions{options.channel}),
        stream(model, options.stream) {}

  const size_t index;
  AudioSource audio;
  Stream stream;
  bool audio_ended = false;
  std::string text;  // recognised so far
};

BatchDecoder::BatchDecoder(std::shared_ptr<const Model> model,
                           const std::vector<Recording>& recordings,
                           const BatchDecoderOptions& options, WorkQueue* queue,
                           DecodeListener* listener)
    : model_(std::move(model)),
      recordings_(recordings),
      options_(options),
      queue_(queue),
      listener_(listener),
      block_(static_cast<size_t>(std::max(1, model_->sample_rate_hz() / kBlocksPerSecond))) {}

BatchDecoder::~BatchDecoder() = default;

void BatchDecoder::Run() {
  while (!queue_->stopped()) {
    FillSlots();
    if (slots_.empty()) return;
    slots_.erase(std::remove_if(slots_.begin(), slots_.end(),
                                [this](const auto& slot) { return !Feed(slot.get()); }),
                 slots_.end());
    Step();
    FinishSlots();
  }
}

void BatchDecoder::FillSlots() {
  while (slots_.size() < static_cast<size_t>(options_.batch_streams)) {
    const std::optional<size_t> item = queue_->Take(slots_.empty());
    if (!item) return;
    try {
      slots_.push_back(std::make_unique<Slot>(*item, recordings_[*item], model_, options_));
    } catch (const std::exception& error) {
      Fail(*item, error.what());
    }
  }
}

bool BatchDecoder::Feed(Slot* slot) {
  try {
    while (!slot->audio_ended && !slot->stream.ChunkReady()) {
      const double seconds_before = slot->audio.seconds_read();
      const size_t num_samples = slot->audio.Read(block_.data(), block_.size());
      slot->stream.AcceptSamples(block_.data(), num_samples);
      listener_->OnAudio(slot->audio.seconds_read() - seconds_before);
      if (num_samples < block_.size()) {
        slot->stream.Finish();
        slot->audio_ended = true;
      }
    }
    return true;
  } catch (const std::invalid_argument& error) {  // from the stream, which does not know the file
    Fail(slot->index, recordings_[slot->index].path + ": " + error.what());
    return false;
  } catch (const std::exception& error) {
    Fail(slot->index, error.what());
    return false;
  }
}

void BatchDecoder::Step() {
  std::vector<Stream*> ready;
  std::vector<Slot*> advancing;
  for (const auto& slot : slots_) {
    if (!slot->stream.ChunkReady()) continue;
    ready.push_back(&slot->stream);
    advancing.push_back(slot.get());
  }
  if (ready.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  DecodeChunks(ready);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  step_latency_.Add(time.count(), static_cast<int64_t>(ready.size()));
  for (Slot* slot : advancing) {
    std::string text = slot->stream.Text();
    if (text == slot->text) continue;
    slot->text = std::move(text);
    listener_->OnPartial(slot->index, slot->text);
  }
}

void BatchDecoder::FinishSlots() {
  const auto is_done = [](const auto& slot) {
    return slot->stream.IsFinal() || !slot->stream.failure().empty();
  };
  for (const auto& slot : slots_) {
    if (!is_done(slot)) continue;
    if (!slot->stream.failure().empty()) {
      Fail(slot->index, recordings_[slot->index].path + ": " + slot->stream.failure());
      continue;
    }
    listener_->OnResult(slot->index, {slot->stream.TakeUtterances().back().nbest,
                                      slot->audio.seconds_read(), slot->audio.announced_s()});
    queue_->Finish(slot->index);
  }
  slots_.erase(std::remove_if(slots_.begin(), slots_.end(), is_done), slots_.end());
}

void BatchDecoder::Fail(size_t index, const std::string& message) {
  listener_->OnFailure(index, message);
  queue_->Finish(index);
}

}  // namespace runnel
