// One audio stream being recognised: accept samples, decode, read text.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_STREAM_H_
#define RUNNEL_RUNTIME_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ctc_search.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/snapshot_error.h"

namespace runnel {

// Sizes in encoder frames (Model::encoder_frame_ms each).
struct StreamOptions {
  // Recommended by the model file (its `streaming` section) where kModelDefault.
  static constexpr int64_t kModelDefault = -2;
  static constexpr int64_t kWholeUtterance = -1;  // chunk_size: one chunk, decoded by Finish
  static constexpr int64_t kUnlimited = -1;       // left_context: all frames before the chunk

  // C, at least 1. Larger: more accurate, later; smaller: the other way round.
  int64_t chunk_size = kModelDefault;
  // M, frames before the chunk that attention sees, at least 0. Memory and time grow with it.
  int64_t left_context = kModelDefault;
  SearchOptions search;

  // Rate of the samples that the stream accepts, in Hz: the model's, or any other from kMinRate to
  // kMaxRate, which is resampled (frontend/resampler.h). That delays results by some 50 ms.
  static constexpr int kModelRate = 0;
  static constexpr int kMinRate = 1000;
  static constexpr int kMaxRate = 768000;
  int sample_rate_hz = kModelRate;
};

// A value: a copy continues on its own from the same point, with the same results. Different
// streams may be used from different threads at once; one stream only from one thread at a time.
class Stream {
 public:
  // Throws std::invalid_argument when an option is out of its range or beyond the model's limits.
  explicit Stream(std::shared_ptr<const Model> model, const StreamOptions& options = {});
  ~Stream();
  Stream(const Stream& other);
  Stream& operator=(const Stream& other);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  // Takes mono samples in [-1, 1] at StreamOptions::sample_rate_hz. Stores them, decodes nothing.
  // Throws std::invalid_argument, having changed nothing, after Finish, or when a sample is not a
  // number or too large for its power to be one (FeatureStream).
  void AcceptSamples(const float* samples, size_t num_samples);

  // Declares the end of the audio: what is left becomes the last chunk. Decodes nothing.
  void Finish();

  // True when DecodeChunks would advance this stream: a chunk's frames are there.
  bool ChunkReady() const;

  // How many more samples must come at least before ChunkReady; 0 when it is, or when no samples
  // lead to it: after Finish, after a failure, and with kWholeUtterance, where Finish alone does.
  // Exact at the model's rate; at another, what the filter looks ahead comes on top. O(1).
  int64_t MinSamplesToChunk() const;

  // True after Finish.
  bool finished() const;

  // Decodes every chunk that is ready. Throws std::runtime_error with failure() when there is one.
  void Decode();

  // Why this stream advances no more, "" if it does: the model's output for its audio is not
  // finite. Ends with Reset.
  const std::string& failure() const;

  // True after Finish when every frame is decoded: results are final.
  bool IsFinal() const;

  // Best text so far, whole: its cost grows with the stream. For streams without end, TextSince.
  std::string Text() const;

  // How many bytes at the beginning of Text() are *stable*: no audio to come changes them, Reset
  // aside. Never falls. All of them with greedy search, and when IsFinal. With beam search what all
  // hypotheses in the beam begin with; how far this lies behind the best text has no bound, since
  // two nearly equal readings of one moment may stay in the beam for long. O(1).
  size_t StableTextSize() const;

  // Text() from byte `position` on, in time proportional to its length and that of the text which
  // is not stable. To read a long stream piece by piece:
  //   std::string now = stream.TextSince(seen);  // follows what was kept before
  //   kept += now.substr(0, stream.StableTextSize() - seen);  // the rest may still change
  //   seen = stream.StableTextSize();
  // Throws std::invalid_argument when position is beyond StableTextSize().
  std::string TextSince(size_t position) const;

  // As StableTextSize, counted in tokens. The frames and the confidence of a stable token may
  // still change.
  size_t NumStableTokens() const;

  // The tokens of the best hypothesis from token `first` on, in time proportional to their number.
  // Throws std::invalid_argument when first is beyond NumStableTokens().
  std::vector<Token> TokensSince(size_t first) const;

  // The `n` best hypotheses so far, best first, with token times and confidences. No two have the
  // same text: of sequences of tokens that spell the same, the best stands for all. With
  // search.lexicon they may end within a word until IsFinal. Throws std::invalid_argument when
  // n < 1.
  std::vector<Hypothesis> NBest(int n) const;
  Hypothesis Best() const;

  // Back to the state after construction, same options.
  void Reset();

  // All that the stream remembers, as bytes (runtime/snapshot_format.h): Restore continues from
  // here, also in another process, with the same results to the bit on a machine of the same
  // instruction set. Some hundred kilobytes to megabytes: keys and values, which have the size that
  // the left context gives them, and every token so far.
  std::string Snapshot() const;

  // `model` must have the fingerprint of that of the snapshot, `lexicon` that of its
  // search.lexicon; null where it had none. Throws SnapshotError with one line that says what is
  // wrong: not a snapshot, truncated, corrupt, of a newer version, of another model (both
  // fingerprints), of another word list, or inconsistent in itself. Any bytes are safe to be given.
  static Stream Restore(std::shared_ptr<const Model> model, const std::string& snapshot,
                        std::shared_ptr<const Lexicon> lexicon = nullptr);

  const Model& model() const;
  const StreamOptions& options() const;  // defaults resolved
  int64_t num_samples() const;           // accepted so far, at options().sample_rate_hz
  int64_t num_encoder_frames() const;    // decoded so far

 private:
  friend size_t DecodeChunks(const std::vector<Stream*>& streams);
  struct State;
  std::unique_ptr<State> state_;
};

// Decodes one chunk of every stream that has one ready, all as one ragged batch; returns how many
// advanced. Streams may differ in chunk size, left context and search; the results of each are
// those it would have alone. A stream for which the model's output is not finite fails
// (Stream::failure) and is passed over from then on; the others do not feel it. Throws
// std::invalid_argument when they are of different models or one is listed twice; nothing has
// changed then. After any other exception, such as std::bad_alloc, the streams are half advanced
// and need a Reset.
size_t DecodeChunks(const std::vector<Stream*>& streams);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_H_
