#include "tests/support/tiny_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "encoder/model_file/model_archive.h"
#include "frontend/feature_stream.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/ctc_search.h"
#include "tests/support/archive_files.h"
#include "tests/support/temporary_folder.h"

namespace runnel::testing {

namespace {

ModelOptions TinyOptions() {
  ModelOptions options;
  if (std::getenv("RUNNEL_TEST_LIBTORCH") != nullptr) options.backend = Backend::kLibTorch;
  return options;
}

}  // namespace

std::shared_ptr<const Model> LoadTiny() { return Model::Load(TinyModelPath(), TinyOptions()); }

const std::shared_ptr<const Model>& Tiny() {
  static const std::shared_ptr<const Model> model = LoadTiny();
  return model;
}

std::shared_ptr<const Model> TinyWith(const std::string& name, const Tensor& tensor) {
  const TemporaryFolder folder;
  ModelArchive archive = ReadModelArchive(TinyModelPath());
  archive.tensors.at(name) = tensor;
  WriteArchive(folder.File("m.pt"), archive.tensors,
               {{"runnel.json", archive.config_json}, {"units.txt", archive.units_text}});
  return Model::Load(folder.File("m.pt"));
}

std::shared_ptr<const Model> LoadOffline(int step_threads) {
  const TemporaryFolder folder;
  ModelArchive archive = ReadModelArchive(TinyModelPath());
  nlohmann::json config = nlohmann::json::parse(archive.config_json);
  config["encoder"]["convolution"]["type"] = "symmetric";
  config["encoder"]["normalization"] = {{"type", "utterance"}, {"epsilon", 1e-5}};
  config["streaming"]["chunk_size"] = kWhole;
  config["streaming"]["left_context"] = kUnlimited;
  archive.tensors.erase("encoder.global_cmvn.mean");
  archive.tensors.erase("encoder.global_cmvn.istd");
  WriteArchive(folder.File("m.pt"), archive.tensors,
               {{"runnel.json", config.dump()}, {"units.txt", archive.units_text}});
  ModelOptions options = TinyOptions();
  options.step_threads = step_threads;
  return Model::Load(folder.File("m.pt"), options);
}

const std::shared_ptr<const Model>& Offline() {
  static const std::shared_ptr<const Model> model = LoadOffline();
  return model;
}

std::shared_ptr<const Model> TinyThatFails() {
  constexpr char kWeight[] = "ctc.ctc_lo.weight";
  const Tensor tensor = ReadModelArchive(TinyModelPath()).tensors.at(kWeight);
  return TinyWith(kWeight, Tensor(tensor.shape(),
                                  std::vector<float>(static_cast<size_t>(tensor.count()), 3e38F)));
}

std::string Describe(const StreamOptions& options) {
  return "C " + std::to_string(options.chunk_size) + ", M " + std::to_string(options.left_context) +
         (options.right_context < 0 ? "" : ", R " + std::to_string(options.right_context)) +
         (options.cached_windows ? ", cached" : "") +
         (options.search.method == SearchMethod::kGreedy ? ", greedy" : ", beam");
}

StreamOptions Options(int64_t chunk_size, int64_t left_context, SearchMethod method) {
  StreamOptions options;
  options.chunk_size = chunk_size;
  options.left_context = left_context;
  options.search.method = method;
  options.nbest = 5;
  return options;
}

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

void ExpectSame(const Results& actual, const Results& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < expected.size(); ++n) {
    EXPECT_EQ(actual[n].text, expected[n].text);
    EXPECT_LE(std::abs(actual[n].score - expected[n].score), tolerance);
    ASSERT_EQ(actual[n].tokens.size(), expected[n].tokens.size());
    for (size_t i = 0; i < expected[n].tokens.size(); ++i) {
      const Token& token = actual[n].tokens[i];
      EXPECT_EQ(token.id, expected[n].tokens[i].id);
      EXPECT_EQ(token.frame, expected[n].tokens[i].frame);
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

Results Final(const Stream& stream) {
  EXPECT_TRUE(stream.IsFinal());
  EXPECT_FALSE(stream.ChunkReady());
  Results results = stream.NBest(5);
  EXPECT_EQ(stream.Text(), results.front().text);
  EXPECT_EQ(stream.Best().text, results.front().text);
  return results;
}

Results DecodeAtOnce(const std::vector<float>& samples, const StreamOptions& options,
                     const std::shared_ptr<const Model>& model) {
  Stream stream(model, options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  return Final(stream);
}

TokenSequence SearchByHand(const std::vector<float>& samples, const StreamOptions& options,
                           int64_t begin, int64_t end) {
  const ModelParts& parts = Tiny()->parts();
  FeatureStream features(parts.frame_extractor, parts.config.features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  std::vector<float> frames(static_cast<size_t>(features.NumFramesReady() * features.dim()));
  const auto count = static_cast<int64_t>(features.PopFrames(frames.size(), frames.data()));
  const Matrix rows = parts.encoder.ForwardUnderMask(frames.data(), count, options.chunk_size,
                                                     options.left_context);
  const Matrix log_probs = parts.RequireCtcHead().LogProbs(rows.rows());
  const VocabularyConfig& vocabulary = parts.config.vocabulary;
  const auto search = MakeCtcSearch(options.search, vocabulary.vocab_size, vocabulary.blank_id);
  search->Advance(log_probs.rows().float32(begin), std::min(end, log_probs.count()) - begin);
  return search->NBest(1).front();
}

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

StreamOptions WithEndpoints(StreamOptions options, double blank_probability, double scale) {
  options.endpoints.enabled = true;
  options.endpoints.silence_blank_probability = blank_probability;
  options.endpoints.rules = {
      {{false, 0.2 * scale, 0}, {true, 0.08 * scale, 0}, {false, 0, 0.6 * scale}}};
  return options;
}

std::vector<Utterance> UtterancesOf(const std::vector<float>& samples, const StreamOptions& options,
                                    const std::shared_ptr<const Model>& model) {
  Stream stream(model, options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  std::vector<Utterance> utterances = stream.TakeUtterances();
  EXPECT_TRUE(stream.TakeUtterances().empty()) << "each is handed over once";
  return utterances;
}

void ExpectSameUtterances(const std::vector<Utterance>& actual,
                          const std::vector<Utterance>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("utterance " + std::to_string(i));
    EXPECT_EQ(actual[i].index, expected[i].index);
    EXPECT_EQ(actual[i].start_ms, expected[i].start_ms);
    EXPECT_EQ(actual[i].end_ms, expected[i].end_ms);
    EXPECT_EQ(actual[i].searched_ms, expected[i].searched_ms);
    EXPECT_EQ(actual[i].end, expected[i].end);
    ExpectSame(actual[i].nbest, expected[i].nbest, tolerance);
  }
}

void Append(std::vector<Utterance>* all, const std::vector<Utterance>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

}  // namespace runnel::testing
