// Streams of the tiny model, for the tests of Stream: options, results at the end, comparisons.
#ifndef RUNNEL_TESTS_SUPPORT_TINY_STREAMS_H_
#define RUNNEL_TESTS_SUPPORT_TINY_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "encoder/model_file/tensor.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search/search.h"
#include "runtime/stream.h"

namespace runnel::testing {

constexpr int64_t kWhole = StreamOptions::kWholeUtterance;
constexpr int64_t kUnlimited = StreamOptions::kUnlimited;

// The n-best list of a stream.
using Results = std::vector<Hypothesis>;

// The golden model. Computed by the LibTorch backend when the environment has RUNNEL_TEST_LIBTORCH,
// otherwise by the default one.
std::shared_ptr<const Model> LoadTiny();
// Loaded once per process.
const std::shared_ptr<const Model>& Tiny();

// The golden model with another tensor of this name, on the default backend.
std::shared_ptr<const Model> TinyWith(const std::string& name, const Tensor& tensor);
// The golden model as one that was trained on whole utterances: its convolution is symmetric, and
// its features are normalised over the utterance. Loaded once per process with one thread per step.
std::shared_ptr<const Model> LoadOffline(int step_threads = 1);
const std::shared_ptr<const Model>& Offline();

// With weights so large that no probability is finite.
std::shared_ptr<const Model> TinyThatFails();

StreamOptions Options(int64_t chunk_size, int64_t left_context,
                      SearchMethod method = SearchMethod::kGreedy);

// For SCOPED_TRACE.
std::string Describe(const StreamOptions& options);

// Every chunk size with every left context; the searches take turns.
std::vector<StreamOptions> OptionGrid();

// Scores and confidences may differ by `tolerance`; everything else must be the same.
void ExpectSame(const Results& actual, const Results& expected, double tolerance = 0);

// The results at the end; also checks what must hold of any stream then.
Results Final(const Stream& stream);

// The results of a stream of the model that gets all samples, (n), in one packet.
Results DecodeAtOnce(const std::vector<float>& samples, const StreamOptions& options,
                     const std::shared_ptr<const Model>& model = Tiny());

// The best sequence in the encoder frames from `begin` to before `end`, by hand: all features, the
// whole utterance under the chunk mask, one search over the frames. Frames count from `begin`.
TokenSequence SearchByHand(const std::vector<float>& samples, const StreamOptions& options,
                           int64_t begin = 0, int64_t end = std::numeric_limits<int64_t>::max());

// Packets of 1 to `max_packet` samples, decoding after each, to the end of the audio.
void Feed(Stream* stream, const std::vector<float>& samples, size_t max_packet,
          std::mt19937_64* random);

// The tiny model's blank is never very probable, so blank_probability is low. The rules, times
// `scale`, are short, so that each of them ends some utterance.
StreamOptions WithEndpoints(StreamOptions options, double blank_probability = 0.15,
                            double scale = 1);

// The utterances of a stream that gets all samples in one packet.
std::vector<Utterance> UtterancesOf(const std::vector<float>& samples, const StreamOptions& options,
                                    const std::shared_ptr<const Model>& model = Tiny());

// As ExpectSame, for the hypotheses of utterances.
void ExpectSameUtterances(const std::vector<Utterance>& actual,
                          const std::vector<Utterance>& expected, double tolerance = 0);

void Append(std::vector<Utterance>* all, const std::vector<Utterance>& more);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_TINY_STREAMS_H_
