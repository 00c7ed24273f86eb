#include "tools/decode/batch_decoder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace runnel {

struct BatchDecoder::Slot {
  Slot(size_t item, const Recording& recording, const std::shared_ptr<const Model>& model,
       const BatchDecoderOptions& options)
      : index(item),
        input(OpenStreamInput(options.input, recording.path, *model, options.audio)),
        stream(model, OptionsFor(*model, options.stream)) {}

  // Those of this recording, which may be short enough for a whole utterance.
  StreamOptions OptionsFor(const Model& model, StreamOptions options) const {
    const std::optional<double> longest_s = LongestWholeS(model, options);
    if (longest_s.has_value() && input->EndsWithin(*longest_s)) {
      options.chunk_size = StreamOptions::kWholeUtterance;
    }
    return options;
  }

  const size_t index;
  const std::unique_ptr<StreamInput> input;
  Stream stream;
  bool has_ended = false;       // the input
  double seconds_read = 0;      // reported last, as the two below
  int64_t utterance_index = 0;  // of `text`
  std::string text;
};

BatchDecoder::BatchDecoder(std::shared_ptr<const Model> model,
                           const std::vector<Recording>& recordings,
                           const BatchDecoderOptions& options, WorkQueue* queue,
                           DecodeListener* listener)
    : model_(std::move(model)),
      recordings_(recordings),
      options_(options),
      queue_(queue),
      listener_(listener) {}

BatchDecoder::~BatchDecoder() = default;

void BatchDecoder::Run() {
  while (!queue_->stopped()) {
    FillSlots();
    if (slots_.empty()) return;
    slots_.erase(std::remove_if(slots_.begin(), slots_.end(),
                                [this](const auto& slot) { return !Feed(slot.get()); }),
                 slots_.end());
    Step();
    for (const auto& slot : slots_) Report(slot.get());
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
    while (!slot->has_ended && !slot->stream.ChunkReady()) {
      slot->has_ended = !slot->input->Feed(&slot->stream);
      const double seconds = slot->input->seconds_read();
      const double length_s = slot->input->announced_s().value_or(0);
      listener_->OnAudio(slot->index, seconds - std::exchange(slot->seconds_read, seconds),
                         length_s > 0 ? std::min(seconds / length_s, 1.0) : 0);
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
  for (const auto& slot : slots_) {
    if (slot->stream.ChunkReady()) ready.push_back(&slot->stream);
  }
  if (ready.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  DecodeChunks(ready);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  step_latency_.Add(time.count(), static_cast<int64_t>(ready.size()));
}

void BatchDecoder::Report(Slot* slot) {
  for (const Utterance& utterance : slot->stream.TakeUtterances()) {
    ReportText(slot, utterance.index, utterance.nbest.front().text);
    listener_->OnUtterance(slot->index, utterance);
  }
  if (slot->stream.IsFinal()) return;
  ReportText(slot, slot->stream.utterance_index(), slot->stream.Text());
}

void BatchDecoder::ReportText(Slot* slot, int64_t utterance_index, std::string text) {
  if (utterance_index != slot->utterance_index) slot->text.clear();
  slot->utterance_index = utterance_index;
  if (text == slot->text) return;
  slot->text = std::move(text);
  listener_->OnPartial(slot->index, utterance_index, slot->text);
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
    listener_->OnEnd(slot->index, {slot->input->seconds_read(), slot->input->Warnings()});
    queue_->Finish(slot->index);
  }
  slots_.erase(std::remove_if(slots_.begin(), slots_.end(), is_done), slots_.end());
}

void BatchDecoder::Fail(size_t index, const std::string& message) {
  listener_->OnFailure(index, message);
  queue_->Finish(index);
}

}  // namespace runnel
