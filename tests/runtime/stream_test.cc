// Streams of the tiny model on seeded noise: packets, batches, copies and threads change nothing.
#include "runtime/stream.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/model_archive.h"
#include "frontend/feature_stream.h"
#include "runtime/ctc_head.h"
#include "runtime/model.h"
#include "runtime/threads.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::NoiseOfChangingLevel;

constexpr int64_t kWhole = StreamOptions::kWholeUtterance;
constexpr int64_t kUnlimited = StreamOptions::kUnlimited;

const std::shared_ptr<const Model>& Tiny() {
  static const std::shared_ptr<const Model> model = Model::Load(testing::TinyModelPath());
  return model;
}

std::string Describe(const StreamOptions& options) {
  return "C " + std::to_string(options.chunk_size) + ", M " + std::to_string(options.left_context) +
         (options.search.method == SearchMethod::kGreedy ? ", greedy" : ", beam");
}

StreamOptions Options(int64_t chunk_size, int64_t left_context,
                      SearchMethod method = SearchMethod::kGreedy) {
  StreamOptions options;
  options.chunk_size = chunk_size;
  options.left_context = left_context;
  options.search.method = method;
  return options;
}

// Every chunk size with every left context; the searches take turns.
std::vector<StreamOptions> OptionGrid() {
  std::vector<StreamOptions> grid;
  for (const int64_t chunk :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{8}, int64_t{16}, kWhole}) {
    for (const int64_t left :
         {int64_t{0}, int64_t{1}, std::abs(chunk), 3 * std::abs(chunk) + 1, kUnlimited}) {
      grid.push_back(Options(
          chunk, left, grid.size() % 2 == 0 ? SearchMethod::kGreedy : SearchMethod::kPrefixBeam));
    }
  }
  return grid;
}

using Results = std::vector<Hypothesis>;

// Scores and confidences may differ by `tolerance`; everything else must be the same.
void ExpectSame(const Results& actual, const Results& expected, double tolerance = 0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < expected.size(); ++n) {
    EXPECT_EQ(actual[n].text, expected[n].text);
    EXPECT_LE(std::abs(actual[n].score - expected[n].score), tolerance);
    ASSERT_EQ(actual[n].tokens.size(), expected[n].tokens.size());
    for (size_t i = 0; i < expected[n].tokens.size(); ++i) {
      const Token& token = actual[n].tokens[i];
      EXPECT_EQ(token.id, expected[n].tokens[i].id);
      EXPECT_EQ(token.start_ms, expected[n].tokens[i].start_ms);
      EXPECT_EQ(token.end_ms, expected[n].tokens[i].end_ms);
      EXPECT_LE(std::abs(token.confidence - expected[n].tokens[i].confidence), tolerance);
    }
    ASSERT_EQ(actual[n].words.size(), expected[n].words.size());
    for (size_t i = 0; i < expected[n].words.size(); ++i) {
      const Word& word = actual[n].words[i];
      EXPECT_EQ(word.text, expected[n].words[i].text);
      EXPECT_EQ(word.start_ms, expected[n].words[i].start_ms);
      EXPECT_EQ(word.end_ms, expected[n].words[i].end_ms);
      EXPECT_LE(std::abs(word.confidence - expected[n].words[i].confidence), tolerance);
    }
  }
}

// The results at the end; also checks what must hold of any stream then.
Results Final(const Stream& stream) {
  EXPECT_TRUE(stream.IsFinal());
  EXPECT_FALSE(stream.ChunkReady());
  Results results = stream.NBest(5);
  EXPECT_EQ(stream.Text(), results.front().text);
  EXPECT_EQ(stream.Best().text, results.front().text);
  return results;
}

Results DecodeAtOnce(const std::vector<float>& samples, const StreamOptions& options) {
  Stream stream(Tiny(), options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  return Final(stream);
}

// Packets of 1 to `max_packet` samples, decoding after each, to the end of the audio.
void Feed(Stream* stream, const std::vector<float>& samples, size_t max_packet,
          std::mt19937_64* random) {
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % max_packet);
    stream->AcceptSamples(samples.data() + at, count);
    at += count;
    stream->Decode();
    EXPECT_FALSE(stream->IsFinal());
  }
  stream->Finish();
  stream->Decode();
}

int64_t NumFrames(size_t num_samples) {
  return num_samples < 400 ? 0 : 1 + (static_cast<int64_t>(num_samples) - 400) / 160;
}

int64_t NumEncoderFrames(int64_t num_frames) {
  return num_frames < 7 ? 0 : ((num_frames - 1) / 2 - 1) / 2;
}

TEST(StreamTest, TinyModelSaysSomething) {
  // Otherwise equal results below would mean little.
  std::set<std::string> texts;
  for (const StreamOptions& options : OptionGrid()) {
    const Results results = DecodeAtOnce(NoiseOfChangingLevel(48000, 1), options);
    texts.insert(results.front().text);
    EXPECT_GE(results.front().text.size(), 8U) << Describe(options);
    EXPECT_GE(results.front().words.size(), 2U) << Describe(options);
  }
  EXPECT_GE(texts.size(), 10U) << "sizes must matter";
}

TEST(StreamTest, IsTheEncoderUnderTheMask) {
  // By hand: all features, the whole utterance under the mask, one search over all frames.
  const std::vector<float> samples = NoiseOfChangingLevel(50123, 2);
  FeatureStream features(Tiny()->fbank(), Tiny()->config().features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  std::vector<float> frames(static_cast<size_t>(features.NumFramesReady() * features.dim()));
  const auto num_frames = static_cast<int64_t>(features.PopFrames(frames.size(), frames.data()));
  const at::Tensor matrix = at::from_blob(frames.data(), {num_frames, features.dim()}, at::kFloat);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const at::Tensor log_probs = Tiny()
                                     ->ctc_head()
                                     .LogProbs(Tiny()->encoder().ForwardUnderMask(
                                         matrix, options.chunk_size, options.left_context))
                                     .contiguous();
    const auto search = MakeCtcSearch(options.search, 7, 0);
    search->Advance(log_probs.data_ptr<float>(), log_probs.size(0));
    const TokenSequence expected = search->NBest(1).front();

    const Hypothesis actual = DecodeAtOnce(samples, options).front();
    EXPECT_NEAR(actual.score, expected.score, 1e-5 * std::max(1.0, std::abs(expected.score)));
    ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
      EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
      EXPECT_EQ(actual.tokens[i].start_ms,
                40.0 * static_cast<double>(expected.tokens[i].first_frame));
      EXPECT_EQ(actual.tokens[i].end_ms,
                40.0 * static_cast<double>(expected.tokens[i].last_frame + 1));
      EXPECT_NEAR(actual.tokens[i].confidence, expected.tokens[i].confidence, 1e-4);
    }
  }
}

TEST(StreamTest, AnyPacketSplitGivesTheSameBits) {
  const std::vector<float> samples = NoiseOfChangingLevel(24321, 3);
  constexpr uint64_t kSeed = 31;
  std::mt19937_64 random(kSeed);
  for (const StreamOptions& options : OptionGrid()) {
    const Results expected = DecodeAtOnce(samples, options);
    for (const size_t max_packet : {37, 700, 5000, 30000}) {
      SCOPED_TRACE(::testing::Message()
                   << Describe(options) << ", packets up to " << max_packet << ", seed " << kSeed);
      Stream stream(Tiny(), options);
      Feed(&stream, samples, max_packet, &random);
      ExpectSame(Final(stream), expected);
    }
  }
}

TEST(StreamTest, PacketsOfOneSample) {
  const std::vector<float> samples = NoiseOfChangingLevel(8000, 4);
  std::mt19937_64 random(1);
  for (const StreamOptions& options :
       {Options(1, 3), Options(4, 8, SearchMethod::kPrefixBeam), Options(kWhole, kUnlimited)}) {
    SCOPED_TRACE(Describe(options));
    Stream stream(Tiny(), options);
    Feed(&stream, samples, 1, &random);
    ExpectSame(Final(stream), DecodeAtOnce(samples, options));
  }
}

TEST(StreamTest, DecodingLateOrChunkByChunkGivesTheSameBits) {
  const std::vector<float> samples = NoiseOfChangingLevel(24000, 5);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples.data(), samples.size());
    int64_t chunks = 0;
    while (DecodeChunks({&stream}) == 1) {
      ++chunks;
      EXPECT_EQ(stream.num_encoder_frames(), chunks * options.chunk_size);
      stream.NBest(3);  // reading changes nothing
    }
    stream.Finish();
    const bool tail_left = stream.ChunkReady();
    EXPECT_EQ(DecodeChunks({&stream}), tail_left ? 1U : 0U);
    ExpectSame(Final(stream), DecodeAtOnce(samples, options));
  }
}

TEST(StreamTest, FrameCountIsTheOfflineOneForEveryLength) {
  std::vector<size_t> lengths = {0, 1, 159, 399};
  for (size_t frames = 1; frames <= 45; ++frames) {
    for (const size_t more : {0, 1, 159}) lengths.push_back(400 + 160 * (frames - 1) + more);
  }
  for (const size_t length : lengths) {
    const std::vector<float> samples = NoiseOfChangingLevel(length, 6);
    const int64_t expected = NumEncoderFrames(NumFrames(length));
    for (const int64_t chunk_size : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{8}, kWhole}) {
      SCOPED_TRACE(::testing::Message() << length << " samples, C " << chunk_size);
      Stream stream(Tiny(), Options(chunk_size, 4));
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Decode();
      const int64_t whole_chunks = chunk_size == kWhole ? 0 : expected / chunk_size * chunk_size;
      EXPECT_EQ(stream.num_encoder_frames(), whole_chunks);
      EXPECT_FALSE(stream.IsFinal());
      stream.Finish();
      stream.Decode();
      EXPECT_TRUE(stream.IsFinal());
      EXPECT_EQ(stream.num_encoder_frames(), expected);
      EXPECT_EQ(stream.num_samples(), static_cast<int64_t>(length));
    }
  }
}

TEST(StreamTest, TooShortForOneFrameIsAnEmptyResult) {
  for (const size_t length : {0, 1, 400, 400 + 160 * 5 + 159}) {
    const std::vector<float> samples = NoiseOfChangingLevel(length, 7);
    for (const StreamOptions& options :
         {Options(1, 0), Options(16, 64, SearchMethod::kPrefixBeam), Options(kWhole, kUnlimited)}) {
      SCOPED_TRACE(::testing::Message() << length << " samples, " << Describe(options));
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Finish();
      stream.Decode();
      const Results results = Final(stream);
      ASSERT_EQ(results.size(), 1U);
      EXPECT_EQ(results[0].text, "");
      EXPECT_EQ(results[0].score, 0);
      EXPECT_TRUE(results[0].tokens.empty());
      EXPECT_TRUE(results[0].words.empty());
      EXPECT_EQ(stream.num_encoder_frames(), 0);
    }
  }
}

TEST(StreamTest, StreamsTogetherGiveWhatEachGivesAlone) {
  const std::vector<StreamOptions> grid = OptionGrid();
  for (size_t num_streams = 1; num_streams <= 17; num_streams += 2) {
    const uint64_t seed = 100 + num_streams;
    SCOPED_TRACE(::testing::Message() << num_streams << " streams, seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<std::vector<float>> audio;
    std::vector<Stream> streams;
    std::vector<Results> expected;
    std::vector<size_t> position(num_streams, 0);
    for (size_t i = 0; i < num_streams; ++i) {
      audio.push_back(NoiseOfChangingLevel(random() % 30000, random()));
      const StreamOptions options = grid[random() % grid.size()];
      streams.emplace_back(Tiny(), options);
      expected.push_back(DecodeAtOnce(audio[i], options));
    }
    while (std::any_of(streams.begin(), streams.end(),
                       [](const Stream& stream) { return !stream.IsFinal(); })) {
      for (size_t i = 0; i < num_streams; ++i) {
        if (position[i] > audio[i].size() || random() % 3 == 0) continue;
        const size_t count = std::min(audio[i].size() - position[i], random() % 4000);
        streams[i].AcceptSamples(audio[i].data() + position[i], count);
        position[i] += count;
        if (position[i] == audio[i].size()) {
          streams[i].Finish();
          ++position[i];  // beyond the end: nothing more to give
        }
      }
      std::vector<Stream*> together;
      for (Stream& stream : streams) {
        if (random() % 4 != 0) together.push_back(&stream);
      }
      std::shuffle(together.begin(), together.end(), random);
      const auto ready = static_cast<size_t>(
          std::count_if(together.begin(), together.end(),
                        [](const Stream* stream) { return stream->ChunkReady(); }));
      EXPECT_EQ(DecodeChunks(together), ready);
    }
    for (size_t i = 0; i < num_streams; ++i) {
      SCOPED_TRACE(::testing::Message() << "stream " << i << ", " << audio[i].size() << " samples, "
                                        << Describe(streams[i].options()));
      ExpectSame(Final(streams[i]), expected[i], testing::kBatchScoreTolerance);
    }
  }
}

TEST(StreamTest, ACopyContinuesOnItsOwn) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 8);
  const std::vector<float> others = NoiseOfChangingLevel(32000, 9);
  std::mt19937_64 random(2);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const Results expected = DecodeAtOnce(samples, options);
    const size_t half = 1 + random() % (samples.size() - 1);
    const std::vector<float> rest(samples.begin() + static_cast<std::ptrdiff_t>(half),
                                  samples.end());
    Stream original(Tiny(), options);
    original.AcceptSamples(samples.data(), half);
    original.Decode();
    const Results middle = original.NBest(5);
    Stream copy = original;
    Stream assigned(Tiny(), Options(2, 2));
    assigned.AcceptSamples(others.data(), others.size());
    assigned.Decode();
    assigned = original;
    Stream elsewhere = original;
    ExpectSame(copy.NBest(5), middle);

    // What one does is not felt by the others.
    Feed(&elsewhere, others, 3000, &random);
    ExpectSame(copy.NBest(5), middle);
    Feed(&original, rest, 3000, &random);
    ExpectSame(assigned.NBest(5), middle);
    Feed(&copy, rest, 500, &random);
    Feed(&assigned, rest, 20000, &random);
    ExpectSame(Final(original), expected);
    ExpectSame(Final(copy), expected);
    ExpectSame(Final(assigned), expected);
    EXPECT_EQ(assigned.options().chunk_size, options.chunk_size);

    const Stream finished = copy;
    ExpectSame(Final(finished), expected);
  }
}

TEST(StreamTest, SelfAssignmentChangesNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 10);
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Decode();
  const Results before = stream.NBest(5);
  const Stream& same = stream;
  stream = same;
  ExpectSame(stream.NBest(5), before);
}

TEST(StreamTest, ResetIsTheStateAfterConstruction) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 11);
  const std::vector<float> before = NoiseOfChangingLevel(17000, 12);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const Results expected = DecodeAtOnce(samples, options);
    Stream stream(Tiny(), options);
    for (const bool finish : {false, true}) {
      stream.AcceptSamples(before.data(), before.size());
      if (finish) stream.Finish();
      stream.Decode();
      stream.Reset();
      EXPECT_EQ(stream.num_samples(), 0);
      EXPECT_EQ(stream.num_encoder_frames(), 0);
      EXPECT_EQ(stream.Text(), "");
      EXPECT_FALSE(stream.ChunkReady());
      EXPECT_FALSE(stream.IsFinal());
    }
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Finish();
    stream.Decode();
    ExpectSame(Final(stream), expected);
  }
}

TEST(StreamTest, MovedStreamsContinue) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 13);
  const StreamOptions options = Options(3, 7, SearchMethod::kPrefixBeam);
  Stream first(Tiny(), options);
  first.AcceptSamples(samples.data(), 9000);
  first.Decode();
  Stream second = std::move(first);
  second.AcceptSamples(samples.data() + 9000, 5000);
  second.Decode();
  Stream third(Tiny(), Options(1, 0));
  third = std::move(second);
  third.AcceptSamples(samples.data() + 14000, samples.size() - 14000);
  third.Finish();
  third.Decode();
  ExpectSame(Final(third), DecodeAtOnce(samples, options));
  first = third;  // a moved-from stream may be assigned to
  ExpectSame(Final(first), Final(third));
}

TEST(StreamTest, DefaultsAreTheModels) {
  const Stream stream(Tiny());
  EXPECT_EQ(stream.options().chunk_size, 4);
  EXPECT_EQ(stream.options().left_context, 8);
  EXPECT_EQ(&stream.model(), Tiny().get());
}

TEST(StreamTest, OptionsOutOfRange) {
  const auto error = [](const StreamOptions& options) {
    return ErrorMessage<std::invalid_argument>([&] { Stream(Tiny(), options); });
  };
  for (const int64_t size :
       {int64_t{0}, int64_t{-3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(error(Options(size, 4)),
              "chunk_size is " + std::to_string(size) +
                  " encoder frames, expected 1 to 16777216 or -1 (the whole utterance)");
  }
  for (const int64_t size : {int64_t{-3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(error(Options(4, size)),
              "left_context is " + std::to_string(size) +
                  " encoder frames, expected 0 to 16777216 or -1 (unlimited)");
  }
  StreamOptions options = Options(4, 4, SearchMethod::kPrefixBeam);
  options.search.beam_size = 0;
  EXPECT_TRUE(Contains(error(options), "beam_size"));
  options.search.beam_size = 1;
  options.search.token_beam = 0;
  EXPECT_TRUE(Contains(error(options), "token_beam"));
  ErrorMessage<std::invalid_argument>([] { Stream(nullptr); });
}

TEST(StreamTest, TheModelsLimitsHold) {
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(testing::TinyModelPath());
  std::string config = archive.config_json;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"min_chunk_size\": 1", "\"min_chunk_size\": 2"},
           {"\"max_chunk_size\": null", "\"max_chunk_size\": 8"},
           {"\"max_left_context\": null", "\"max_left_context\": 10"}}) {
    ASSERT_NE(config.find(from), std::string::npos);
    config.replace(config.find(from), from.size(), to);
  }
  testing::WriteArchive(folder.File("m.pt"), archive.tensors,
                        {{"runnel.json", config}, {"units.txt", archive.units_text}});
  const std::shared_ptr<const Model> model = Model::Load(folder.File("m.pt"));
  EXPECT_NO_THROW(Stream(model, Options(2, 0)));
  EXPECT_NO_THROW(Stream(model, Options(8, 10)));
  EXPECT_NO_THROW(Stream{model});
  for (const int64_t size : {int64_t{1}, int64_t{9}, kWhole}) {
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { Stream(model, Options(size, 4)); }),
                 "expected 2 to 8, the limits of this model"));
  }
  for (const int64_t size : {int64_t{11}, kUnlimited}) {
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { Stream(model, Options(4, size)); }),
                 "expected 0 to 10, the limit of this model"));
  }
}

// Finite weights can overflow all the same: a fault of the model, not of the caller.
TEST(StreamTest, AModelWhoseOutputOverflowsIsBadData) {
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(testing::TinyModelPath());
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : archive.tensors) {
    tensors[name] = name == "ctc.ctc_lo.weight" ? at::full_like(tensor, 3e38) : tensor;
  }
  testing::WriteArchive(folder.File("m.pt"), tensors,
                        {{"runnel.json", archive.config_json}, {"units.txt", archive.units_text}});
  Stream stream(Model::Load(folder.File("m.pt")), Options(4, 8));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 16);
  stream.AcceptSamples(samples.data(), samples.size());
  EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>([&] { stream.Decode(); }),
                       "gives no probabilities"));
}

TEST(StreamTest, SamplesThatAreRefusedChangeNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 14);
  const Results expected = DecodeAtOnce(samples, Options(4, 8));
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), 12000);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> bad(samples.begin() + 12000, samples.end());
    bad[777] = value;
    ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(bad.data(), bad.size()); });
  }
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(nullptr, 5); });
  EXPECT_EQ(stream.num_samples(), 12000);
  stream.AcceptSamples(nullptr, 0);
  stream.AcceptSamples(samples.data() + 12000, samples.size() - 12000);
  stream.Finish();
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(samples.data(), 1); });
  stream.Finish();  // once more changes nothing
  stream.Decode();
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(samples.data(), 1); });
  ExpectSame(Final(stream), expected);
}

TEST(StreamTest, WrongBatchesAreRefusedAndChangeNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 15);
  const std::shared_ptr<const Model> other_model = Model::Load(testing::TinyModelPath());
  Stream stream(Tiny(), Options(4, 8));
  Stream second(Tiny(), Options(4, 8));
  Stream other(other_model, Options(4, 8));
  for (Stream* each : {&stream, &second, &other}) {
    each->AcceptSamples(samples.data(), samples.size());
    each->Finish();
  }
  ErrorMessage<std::invalid_argument>([&] { DecodeChunks({&stream, &second, &stream}); });
  ErrorMessage<std::invalid_argument>([&] { DecodeChunks({&stream, &second, &other}); });
  for (Stream* each : {&stream, &second, &other}) {
    EXPECT_EQ(each->num_encoder_frames(), 0);
    each->Decode();
    ExpectSame(Final(*each), DecodeAtOnce(samples, Options(4, 8)));
  }
}

TEST(StreamTest, NothingToDecode) {
  EXPECT_EQ(DecodeChunks({}), 0U);
  Stream empty(Tiny());
  EXPECT_EQ(DecodeChunks({&empty}), 0U);
  EXPECT_EQ(empty.Text(), "");
  EXPECT_EQ(empty.Best().text, "");
  ErrorMessage<std::invalid_argument>([&] { empty.NBest(0); });
  empty.Finish();
  EXPECT_TRUE(empty.IsFinal());
  EXPECT_EQ(DecodeChunks({&empty}), 0U);
}

TEST(StreamTest, ThreadsShareOneModel) {
  // A model of its own, so that its tables are filled while several threads use it.
  const std::shared_ptr<const Model> model = Model::Load(testing::TinyModelPath());
  SetThreadsPerOperation(1);
  constexpr size_t kThreads = 4;
  constexpr size_t kStreams = 3;
  const std::vector<StreamOptions> grid = OptionGrid();
  const auto options_of = [&](size_t thread, size_t i) {
    return grid[(thread * 11 + i * 5) % grid.size()];
  };
  const auto audio_of = [](size_t thread, size_t i) {
    return NoiseOfChangingLevel(15000 + 1234 * thread + 777 * i, 100 * thread + i);
  };
  std::vector<std::vector<Results>> results(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SetThreadsPerOperation(1);
      std::vector<Stream> streams;
      std::vector<Stream*> pointers;
      for (size_t i = 0; i < kStreams; ++i) streams.emplace_back(model, options_of(t, i));
      for (size_t i = 0; i < kStreams; ++i) {
        const std::vector<float> samples = audio_of(t, i);
        streams[i].AcceptSamples(samples.data(), samples.size());
        streams[i].Finish();
        pointers.push_back(&streams[i]);
      }
      while (DecodeChunks(pointers) > 0) {
      }
      for (const Stream& stream : streams) results[t].push_back(stream.NBest(5));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; ++t) {
    for (size_t i = 0; i < kStreams; ++i) {
      SCOPED_TRACE(::testing::Message() << "thread " << t << ", stream " << i);
      ExpectSame(results[t][i], DecodeAtOnce(audio_of(t, i), options_of(t, i)),
                 testing::kBatchScoreTolerance);
    }
  }
}

}  // namespace
}  // namespace runnel
