// One audio stream: accept samples, decode chunks, read text and utterances.
#ifndef RUNNEL_RUNTIME_STREAM_H_
#define RUNNEL_RUNTIME_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/endpoint_options.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search_options.h"
#include "runtime/snapshot_error.h"

namespace runnel {

class LanguageModel;

// Tentative text of a live stream (runtime/live_stream.h) before its next chunk is complete, from
// previews (Stream::Preview). Each preview costs about as much as a chunk. Final results do not
// change. Sizes are in encoder frames.
struct EarlyTextOptions {
  static constexpr int64_t kMaxPadding = 64;

  // A preview after each so many frames of audio; 0: none. 0 with StreamOptions::kWholeUtterance,
  // whose previews would decode all audio so far.
  int64_t interval = 0;
  int64_t padding = 2;  // mean frames after the audio, 0 to kMaxPadding
};

// Sizes are in encoder frames (Model::encoder_frame_ms each).
struct StreamOptions {
  // What Model::streaming() recommends. For a chunk_size of an offline model: its window.
  static constexpr int64_t kModelDefault = -2;
  static constexpr int64_t kWholeUtterance = -1;  // chunk_size: one chunk, decoded after Finish
  static constexpr int64_t kUnlimited = -1;       // left_context: all frames before the chunk
  static constexpr int64_t kNoRightContext = -1;  // right_context: chunks, not windows

  // C, at least 1. Larger chunks: more accurate, later results.
  int64_t chunk_size = kModelDefault;
  // M, the frames before the chunk that attention uses, at least 0. Memory and time grow with it.
  int64_t left_context = kModelDefault;
  // R, at least 0: each chunk is computed anew in a window of the left context, the chunk and R
  // frames after it, as an utterance of its own, of which the chunk's frames are kept. Results come
  // R frames later. For offline models only, which recommend the whole utterance. Default: that of
  // Model::streaming().window with the default chunk_size, and with another one for a model that
  // needs the whole utterance; else kNoRightContext, with which chunks read no frame after them.
  int64_t right_context = kModelDefault;
  // Of windows: computes a left context once, with the right context that it had as the chunk, and
  // not anew in each window. Down to a quarter of the computing time, and other results.
  bool cached_windows = false;
  SearchOptions search;
  EndpointOptions endpoints;
  // Of a multilingual model with a language prompt (Model::languages); "": its default.
  std::string language;

  // Texts and words show special tokens, such as <en-US> and <EOU>. They are of no hotword and no
  // language model in either case.
  bool show_special_tokens = false;

  static constexpr int kMaxNBest = 10000;
  // The most hypotheses of an Utterance, 1 to kMaxNBest.
  int nbest = 1;

  EarlyTextOptions early_text;

  // Rate of the samples that the stream accepts, in Hz. Samples of another rate than the model's
  // are resampled, which delays results by about 50 ms.
  static constexpr int kModelRate = 0;
  static constexpr int kMinRate = 1000;
  static constexpr int kMaxRate = 768000;
  int sample_rate_hz = kModelRate;
};

// The longest recording, in seconds, that is decoded as a whole utterance by default:
// kLongestWholeS for an offline model, nothing for others and when chunk_size, a context or
// cached_windows is chosen. A program that has all of a recording before it decodes opens the
// stream of one that is not longer with kWholeUtterance, as decode_wav does. Why:
// docs/models.md#windows.
std::optional<double> LongestWholeS(const Model& model, const StreamOptions& options);
constexpr double kLongestWholeS = 60;

// The vocabulary of the texts of a stream: that of the model, with special tokens as text where the
// options show them.
const TokenTable& TextTokens(const Model& model, const StreamOptions& options);

// What a snapshot names without holding it, and what may change when a stream is restored.
struct RestoreOptions {
  // Those of the stream; null if it had none. The language model keeps the weight, bonus and level
  // of the stream. Hotwords are in the snapshot.
  std::shared_ptr<const WordList> word_list;
  std::shared_ptr<const LanguageModel> language_model;
  int nbest = 0;  // as StreamOptions::nbest; 0: that of the stream
  // What the program's other streams of the same model search with. Hotwords and a language model
  // that equal those of the stream are shared with it, not prepared again. The language model need
  // then not be given above. What the stream does not have is ignored.
  SearchOptions shared = {};
};

// A value: a copy continues independently from the same point, with the same results. Different
// streams may be used from different threads at once; each stream from one thread at a time.
//
// A stream is a sequence of utterances. An utterance ends by a rule of options().endpoints, by
// FinalizeUtterance, or with the stream. The search then forgets it and begins the next one; the
// encoder goes on. Text, tokens and hypotheses are those of the utterance that is spoken now; after
// the end of the stream, those of the last one. So a stream whose utterances end runs in constant
// memory, however long it is.
class Stream {
 public:
  struct State;  // runtime/stream/stream_state.h

  // Throws std::invalid_argument when `model` is null, or an option is out of its range or not
  // permitted by the model.
  explicit Stream(std::shared_ptr<const Model> model, const StreamOptions& options = {});
  ~Stream();
  Stream(const Stream& other);
  Stream& operator=(const Stream& other);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  // Stores mono samples in [-1, 1] at StreamOptions::sample_rate_hz; decodes nothing. Throws
  // std::invalid_argument, and changes nothing, after Finish and when a sample is NaN or beyond 100
  // in magnitude: it has another scale, such as that of 16-bit integers.
  void AcceptSamples(const float* samples, size_t num_samples);

  // Stores feature frames that were computed elsewhere, (num_frames, Model::feature_dim) row-major,
  // in place of samples. They count as audio at the model's rate. Throws std::invalid_argument, and
  // changes nothing, after Finish, for a stream that has samples or resamples, and for a value that
  // is not finite.
  void AcceptFeatures(const float* frames, size_t num_frames);

  // Ends the audio: the rest of the samples becomes the last chunk. Decodes nothing.
  void Finish();

  // True when enough samples are there for DecodeChunks to advance this stream.
  bool ChunkReady() const;

  // The least number of further samples before ChunkReady. 0 when it is true already, or when no
  // number of samples makes it true: after Finish, after a failure, and with kWholeUtterance, where
  // only Finish does. An estimate at another rate than the model's, where the look-ahead of the
  // resampling filter may need more, and while silence is skipped: nobody knows when sound begins,
  // and the chunk may be complete before, because it begins with audio from before the sound. At
  // least 1 unless it is 0 for a reason above. O(1).
  int64_t MinSamplesToChunk() const;

  // Encoder frames that the samples complete and that are not decoded yet.
  int64_t num_waiting_frames() const;
  // The least number of further samples before num_waiting_frames() is `count`; 0 and otherwise as
  // MinSamplesToChunk.
  int64_t MinSamplesTo(int64_t count) const;

  // True after Finish.
  bool finished() const;

  // Decodes every chunk that is ready. Throws std::runtime_error with failure() if there is one.
  void Decode();

  // Ends the utterance now, with the same result as if the audio ended here: decodes every chunk
  // that is ready, then the rest of the samples in a copy of the stream, padded as Finish does.
  // The last encoder frames therefore see no audio after this point. The stream goes on as if
  // nothing had happened, except that the next utterance begins at the last token of this one. A
  // word that is still being spoken is cut, and no token is lost: what was not found in these last
  // frames belongs to the next utterance. Does nothing when IsFinal. An utterance without a frame
  // does not end: a second call without samples in between has no effect. Throws std::runtime_error
  // with failure().
  void FinalizeUtterance();
  // The same in a batch: `finished` is a copy of this stream as it is now, with no chunk ready,
  // after Finish on the copy. What the caller has decoded of it is not decoded again.
  void FinalizeUtterance(Stream finished);

  // A copy for tentative text before the next chunk is complete: decode it, read its text, and
  // throw it away. Its audio ends with the frames that are complete now, followed by `num_padding`
  // encoder frames of mean features, which let the model emit what it has heard (zero prompts: Song
  // et al. 2023, "ZeroPrompt: streaming acoustic encoders are zero-shot masked LMs"). This stream
  // does not change. The copy has no endpoints; it takes no samples and has no snapshot
  // (std::invalid_argument), and Finish does nothing. After Finish of this stream nothing is
  // padded: the copy has the audio that is left, and its text is that of the end of the stream,
  // without endpoints. Throws std::invalid_argument when num_padding is negative.
  Stream Preview(int64_t num_padding) const;

  // The utterances that have ended since the last call, in order, each once. The last utterance of
  // a stream, and one that FinalizeUtterance ended, may have no text; the others have some: a rule
  // that ends an utterance without text starts it anew.
  std::vector<Utterance> TakeUtterances();

  // Index of the utterance that Text, tokens and hypotheses are of.
  int64_t utterance_index() const;

  // The encoder frame with which that text begins. It grows whenever text, tokens and hypotheses
  // are forgotten: with each utterance, and when a rule ends an utterance without text. Equal
  // frames are thus of one text.
  int64_t text_begin() const;

  // Index of the first utterance that TakeUtterances has not brought yet. It may have ended
  // already.
  int64_t first_utterance() const;

  // Why this stream no longer advances: the model's output for its audio is not finite. "" while it
  // advances. Reset clears it.
  const std::string& failure() const;

  // True after Finish when every frame is decoded: results are final.
  bool IsFinal() const;

  // The whole text of the best hypothesis. Its cost grows with the utterance; see TextSince.
  std::string Text() const;
  // Whether that text begins a word, as Hypothesis::begins_word.
  bool BeginsWord() const;

  // The number of bytes at the beginning of Text() that are *stable*: no later audio changes them.
  // Only Reset and the end of the utterance lower it. With greedy search, and when IsFinal, all
  // bytes are stable. With beam search, the bytes that all hypotheses in the beam begin with are;
  // they may fall behind Text() by any amount, since two nearly equal hypotheses may stay in the
  // beam for long. O(1).
  size_t StableTextSize() const;

  // Text() from byte `position` on, in time proportional to its own length and the length of the
  // text that is not stable. To read a long utterance piece by piece:
  //   std::string now = stream.TextSince(seen);
  //   stable += now.substr(0, stream.StableTextSize() - seen);  // the rest may still change
  //   seen = stream.StableTextSize();
  // Throws std::invalid_argument when position is beyond StableTextSize().
  std::string TextSince(size_t position) const;

  // As StableTextSize, counted in tokens. The times and the confidence of a stable token may still
  // change.
  size_t NumStableTokens() const;

  // The tokens of the best hypothesis from token `first` on, in time proportional to their number.
  // Throws std::invalid_argument when first is beyond NumStableTokens().
  std::vector<Token> TokensSince(size_t first) const;

  // The `n` best hypotheses so far, best first. No two have the same text: of token sequences with
  // the same text, the best one is listed. With search.word_list they may end within a word until
  // IsFinal. Throws std::invalid_argument when n < 1.
  std::vector<Hypothesis> NBest(int n) const;
  Hypothesis Best() const;

  // Returns to the state after construction, with the same options.
  void Reset();

  // The state of the stream as bytes (format: runtime/snapshot/snapshot_format.h). Restore
  // continues from it, in this or another process, with bit-identical results on a machine with the
  // same instruction set. The size is some hundred kilobytes to megabytes: the keys and values of
  // the left context, and every token so far. Throws std::invalid_argument for a preview.
  std::string Snapshot() const;

  // `model` must have the fingerprint of the snapshot's model. Throws SnapshotError when it, or
  // something that `options` give, does not; and for bytes that are not a valid snapshot. Safe for
  // any bytes.
  static Stream Restore(std::shared_ptr<const Model> model, const std::string& snapshot,
                        const RestoreOptions& options = {});

  const Model& model() const;
  const StreamOptions& options() const;  // defaults resolved
  int64_t num_samples() const;           // accepted so far, at options().sample_rate_hz
  int64_t num_encoder_frames() const;    // decoded so far
  // The end of the audio of the stream's first encoder frames, at most that of the samples that
  // they read.
  double EndOfFramesMs(int64_t num_encoder_frames) const;

 private:
  friend size_t DecodeChunks(const std::vector<Stream*>& streams);
  std::unique_ptr<State> state_;
};

// Decodes one chunk of every stream that has one ready, all in one batch, and returns how many
// advanced. Streams may differ in chunk size, left context and search; each gets the results that
// it would get alone. A stream for which the model's output is not finite fails (Stream::failure)
// and is skipped from then on, without effect on the others. Throws std::invalid_argument, and
// changes nothing, when the streams are of different models or one is listed twice. After any other
// exception, such as std::bad_alloc, the streams are half advanced and need a Reset.
size_t DecodeChunks(const std::vector<Stream*>& streams);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_H_
