// Streams in the middle of a recording, whose chunks Runnel decodes in batches.
#ifndef RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_
#define RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/encoder.h"
#include "runtime/model.h"
#include "runtime/model/model_config.h"
#include "runtime/search/transducer_search.h"
#include "tools/benchmark/feature_pool.h"

namespace runnel {

// What a step computes of the encoder's output: nothing, log probabilities, or a search
// (tools/benchmark/random/token_search.h).
enum class MeasuredHead { kNone, kCtc, kTransducer };

// Used by one thread at a time.
class SteadyStreams {
 public:
  // `setting`: a limited chunk of at least 1 and a limited left context. `pool` must outlive this
  // and supply FramesOfFirstChunk frames at a time. Streams are numbered from `first_stream` on;
  // the number determines the features of a stream. `batch_size`: streams per step, 1 to
  // num_streams.
  SteadyStreams(std::shared_ptr<const Model> model, const FeaturePool* pool,
                const StreamingSetting& setting, MeasuredHead head, int64_t num_streams,
                int64_t batch_size, int64_t first_stream = 0);

  // Computes chunks until every cache is full, and as many more.
  void FillCaches();

  // Computes one chunk of each of the next batch_size() streams: Encoder::Step and the head.
  void Step();

  // Time of the head in the last step, of the whole batch.
  double head_ms() const { return head_ms_; }

  int64_t batch_size() const { return static_cast<int64_t>(segments_.size()); }
  // Size of the largest EncoderState.
  int64_t bytes_per_stream() const;
  // Of the transducer's search since it began anew; 0 without one.
  double tokens_per_frame() const;

 private:
  void ComputeHead(const EncoderOutput& output, size_t first_stream);
  void SearchTransducer(const EncoderOutput& output, size_t first_stream);

  std::shared_ptr<const Model> model_;
  const FeaturePool* pool_;
  StreamingSetting setting_;
  MeasuredHead head_;
  std::vector<EncoderState> states_;
  std::vector<std::unique_ptr<TransducerSearch>> searches_;  // kTransducer only
  std::vector<int64_t> positions_;                           // in the pool, per stream
  std::vector<EncoderSegment> segments_;
  size_t next_ = 0;  // first stream of the next step
  double head_ms_ = 0;
};

// Feature frames that a stream's first chunk reads; later chunks take fewer.
int64_t FramesOfFirstChunk(const Encoder& encoder, const StreamingSetting& setting);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_
