// Streams in the middle of a recording: what Runnel spends on one chunk of each.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_
#define RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/encoder.h"
#include "runtime/model.h"
#include "runtime/model_config.h"
#include "tools/benchmark/feature_pool.h"

namespace runnel {

// Decoded in batches, used by one thread at a time.
class SteadyStreams {
 public:
  // `setting`: both sizes limited, the chunk at least 1. `pool` gives rate * chunk_size frames and
  // those of a first chunk; it must live as long as this. Streams are numbered from `first_stream`
  // on, which decides what each hears. batch_size: streams of a batch, 1 to num_streams.
  SteadyStreams(std::shared_ptr<const Model> model, const FeaturePool* pool,
                const StreamingSetting& setting, int64_t num_streams, int64_t batch_size,
                int64_t first_stream = 0);

  // Computes chunks until every cache is as full as it gets, and has been refilled once.
  void FillCaches();

  // Computes one chunk of each of the next batch_size() streams: Encoder::Step and
  // CtcHead::LogProbs.
  void Step();

  int64_t batch_size() const { return static_cast<int64_t>(segments_.size()); }
  // Of the largest EncoderState.
  int64_t bytes_per_stream() const;

 private:
  std::shared_ptr<const Model> model_;
  const FeaturePool* pool_;
  StreamingSetting setting_;
  std::vector<EncoderState> states_;
  std::vector<int64_t> positions_;  // in the pool, per stream
  std::vector<EncoderSegment> segments_;
  size_t next_ = 0;  // stream of the next batch
};

// Feature frames that a stream's first chunk takes; the others take less.
int64_t FramesOfFirstChunk(const Encoder& encoder, int64_t chunk_size);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_STEADY_STREAMS_H_
