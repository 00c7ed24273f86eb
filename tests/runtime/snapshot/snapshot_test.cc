// A stream that is saved at any moment and restored gives bit-identical results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/options/stream_options.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Describe;
using testing::ExpectSame;
using testing::Final;
using testing::kUnlimited;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Results;
using testing::Tiny;
using testing::TinyModelPath;

const std::string kDigitsFolder = RUNNEL_SOURCE_DIR "/models/digits/";

std::shared_ptr<const WordList> TinyWordList() {
  return std::make_shared<const WordList>("a\nad\nbad\ncab\ndada\né\n", Tiny()->tokens(), "words");
}

// All results and counters of a stream.
void ExpectSameStream(const Stream& actual, const Stream& expected) {
  ExpectSame(actual.NBest(20), expected.NBest(20));
  EXPECT_EQ(actual.Text(), expected.Text());
  EXPECT_EQ(actual.StableTextSize(), expected.StableTextSize());
  EXPECT_EQ(actual.TextSince(actual.StableTextSize()), expected.TextSince(actual.StableTextSize()));
  EXPECT_EQ(actual.NumStableTokens(), expected.NumStableTokens());
  EXPECT_EQ(actual.num_samples(), expected.num_samples());
  EXPECT_EQ(actual.num_encoder_frames(), expected.num_encoder_frames());
  EXPECT_EQ(actual.MinSamplesToChunk(), expected.MinSamplesToChunk());
  EXPECT_EQ(actual.ChunkReady(), expected.ChunkReady());
  EXPECT_EQ(actual.finished(), expected.finished());
  EXPECT_EQ(actual.IsFinal(), expected.IsFinal());
  EXPECT_EQ(actual.failure(), expected.failure());
  EXPECT_EQ(actual.options().chunk_size, expected.options().chunk_size);
  EXPECT_EQ(actual.options().left_context, expected.options().left_context);
  EXPECT_EQ(actual.options().sample_rate_hz, expected.options().sample_rate_hz);
}

Stream Restored(const Stream& stream, const std::shared_ptr<const Model>& model) {
  const std::string bytes = stream.Snapshot();
  Stream restored = Stream::Restore(model, bytes, {stream.options().search.word_list, nullptr});
  EXPECT_EQ(restored.Snapshot(), bytes);
  ExpectSameStream(restored, stream);
  return restored;
}

// Plays `samples` in packets to a stream of `model`, which is saved and restored before the first
// and after many of the packets; into `other`, another load of the same model.
Results PlayWithRestores(const std::shared_ptr<const Model>& model,
                         const std::shared_ptr<const Model>& other, const StreamOptions& options,
                         const std::vector<float>& samples, std::mt19937_64* random) {
  Stream stream = Restored(Stream(model, options), other);
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % 6000);
    stream.AcceptSamples(samples.data() + at, count);
    at += count;
    if ((*random)() % 3 == 0) stream = Restored(stream, other);
    if ((*random)() % 2 == 0) DecodeChunks({&stream});
    if ((*random)() % 2 == 0) stream.Decode();
    if ((*random)() % 3 == 0) stream = Restored(stream, model);
  }
  stream.Finish();
  stream = Restored(stream, other);
  stream.Decode();
  return Final(Restored(stream, model));
}

Results Play(const std::shared_ptr<const Model>& model, const StreamOptions& options,
             const std::vector<float>& samples) {
  Stream stream(model, options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  return Final(stream);
}

std::vector<SearchOptions> Searches() {
  SearchOptions greedy;
  SearchOptions beam;
  beam.method = SearchMethod::kPrefixBeam;
  SearchOptions words = beam;
  words.word_list = TinyWordList();
  return {greedy, beam, words};
}

TEST(SnapshotTest, AnySizesAndSearches) {
  std::mt19937_64 random(1);
  const std::shared_ptr<const Model> other = Model::Load(TinyModelPath());
  for (StreamOptions options : OptionGrid()) {
    for (const SearchOptions& search : Searches()) {
      options.search = search;
      SCOPED_TRACE(Describe(options));
      const std::vector<float> samples = NoiseOfChangingLevel(16000 + random() % 30000, random());
      const Results expected = Play(Tiny(), options, samples);
      ExpectSame(PlayWithRestores(Tiny(), other, options, samples, &random), expected);
    }
  }
}

// Another value than `value` that the option may have.
OptionValue AnotherValue(const StreamOption& option, const OptionValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return !*truth;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto* choice = std::get_if<StreamOption::Choice>(&option.field);
    if (choice == nullptr) return std::string("xx");
    return choice->names.back() == *text ? choice->names.front() : choice->names.back();
  }
  if (const auto* number = std::get_if<double>(&value)) return (*number + option.most) / 2;
  const int64_t number = std::get<int64_t>(value);
  const auto least = static_cast<int64_t>(option.least);
  return number < least                                   ? least + 3
         : number + 1 > static_cast<int64_t>(option.most) ? least
                                                          : number + 1;
}

// Every row of the table that is no file and not of one: none is forgotten by the snapshot.
TEST(SnapshotTest, KeepsEveryOption) {
  std::set<std::string> refused;
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.is_file() || option.needs.name == "hotwords" ||
        option.needs.name == "language_model") {
      continue;
    }
    SCOPED_TRACE(option.name);
    OptionValues values;
    const OptionValue before = Get(option, values);
    Set(option, AnotherValue(option, before), &values);
    ASSERT_NE(Get(option, values), before);
    try {
      const Stream stream(Tiny(), values.stream);
      OptionValues restored;
      restored.stream = Stream::Restore(Tiny(), stream.Snapshot()).options();
      EXPECT_EQ(Get(option, restored), Get(option, values));
    } catch (const std::invalid_argument&) {
      refused.insert(option.name);
    }
  }
  // What the tiny model lacks. The snapshots of transducers and of rescoring have their own tests.
  EXPECT_EQ(refused,
            (std::set<std::string>{"cached_windows", "ctc_weight", "head", "language",
                                   "max_symbols", "rescoring", "right_context", "search"}));
}

TEST(SnapshotTest, AnySampleRate) {
  std::mt19937_64 random(2);
  for (const int rate_hz : {8000, 11025, 44100, 44101, 48000}) {
    for (const SearchOptions& search : Searches()) {
      StreamOptions options = Options(4, 8);
      options.search = search;
      options.sample_rate_hz = rate_hz;
      SCOPED_TRACE(std::to_string(rate_hz) + " Hz");
      const std::vector<float> samples =
          NoiseOfChangingLevel(static_cast<size_t>(rate_hz) * 3, random());
      const Results expected = Play(Tiny(), options, samples);
      ExpectSame(PlayWithRestores(Tiny(), Tiny(), options, samples, &random), expected);
    }
  }
}

std::vector<ModelOptions> WaysToCompute() {
  std::vector<ModelOptions> all(1);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    ModelOptions options;
    options.precision = precision;
    options.bfloat16_cache = true;
    all.push_back(options);
  }
  if (testing::kHasLibTorch) {
    ModelOptions reference;
    reference.backend = Backend::kLibTorch;
    all.push_back(reference);
    reference.precision = Precision::kFloat64;
    all.push_back(reference);
  }
  return all;
}

TEST(SnapshotTest, AnyPositionSchemeComputedAnyWay) {
  std::mt19937_64 random(3);
  const std::filesystem::path folder = RUNNEL_SOURCE_DIR "/tests/golden/encoder/variants";
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string path = file.path().string();
    if (path.find("_goldens") == std::string::npos) paths.push_back(path);
  }
  EXPECT_GE(paths.size(), 25U);
  paths.push_back(TinyModelPath());
  size_t num_streaming = 0;
  for (const std::string& path : paths) {
    std::set<std::string> fingerprints;
    for (const ModelOptions& how : WaysToCompute()) {
      SCOPED_TRACE(path);
      const std::shared_ptr<const Model> model = Model::Load(path, how);
      EXPECT_TRUE(fingerprints.insert(model->fingerprint()).second);
      const bool whole = model->parts().encoder.config().NeedsWholeUtterance() != nullptr;
      num_streaming += whole ? 0 : 1;
      for (const int64_t left_context : {int64_t{5}, kUnlimited}) {
        StreamOptions options;  // the model's, where it allows no others
        const int64_t multiple = model->parts().encoder.config().ChunkMultiple();
        if (!whole && model->streaming().only.empty()) {
          options = Options(3 * multiple,
                            left_context == kUnlimited ? kUnlimited : left_context * multiple);
        }
        options.search.method = SearchMethod::kPrefixBeam;
        const auto rate_hz = static_cast<size_t>(model->sample_rate_hz());
        const std::vector<float> samples = NoiseOfChangingLevel(2 * rate_hz, random());
        const Results expected = Play(model, options, samples);
        ExpectSame(PlayWithRestores(model, model, options, samples, &random), expected);
      }
    }
  }
  EXPECT_GE(num_streaming, 20U);
}

TEST(SnapshotTest, SpeechAndItsWords) {
  std::mt19937_64 random(4);
  const std::shared_ptr<const Model> model = Model::Load(kDigitsFolder + "digits.pt");
  const auto word_list = WordList::Read(kDigitsFolder + "words.txt", model->tokens());
  std::ifstream list(kDigitsFolder + "samples/wav.scp");
  std::string id;
  std::string path;
  int num_recordings = 0;
  while (list >> id >> path) {
    SCOPED_TRACE(id);
    ++num_recordings;
    const int rate_hz = num_recordings % 2 == 0 ? 16000 : 8000;
    AudioSource audio(std::string(RUNNEL_SOURCE_DIR) + "/" + path, rate_hz);
    std::vector<float> samples(static_cast<size_t>(rate_hz) * 30);
    samples.resize(audio.Read(samples.data(), samples.size()));
    for (SearchOptions search : Searches()) {
      if (search.word_list != nullptr) search.word_list = word_list;
      StreamOptions options;
      options.sample_rate_hz = rate_hz;
      options.search = search;
      const Results expected = Play(model, options, samples);
      EXPECT_GE(expected.front().words.size(), 1U);
      ExpectSame(PlayWithRestores(model, model, options, samples, &random), expected);
    }
  }
  EXPECT_GE(num_recordings, 6);
}

TEST(SnapshotTest, AForkAndAResetGoOn) {
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 5);
  const std::vector<float> others = NoiseOfChangingLevel(20000, 6);
  const StreamOptions options = Options(4, 8, SearchMethod::kPrefixBeam);
  Stream stream(Tiny(), options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Decode();
  const std::string bytes = stream.Snapshot();
  Stream fork = Stream::Restore(Tiny(), bytes);
  fork.AcceptSamples(others.data(), others.size());
  fork.Finish();
  fork.Decode();
  ExpectSameStream(Stream::Restore(Tiny(), bytes), stream);
  fork.Reset();
  fork.AcceptSamples(others.data(), others.size());
  fork.Finish();
  fork.Decode();
  ExpectSame(Final(fork), Play(Tiny(), options, others));
}

TEST(SnapshotTest, AFailureStays) {
  const std::shared_ptr<const Model> model = testing::TinyThatFails();
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 7);
  for (const SearchOptions& search : Searches()) {
    StreamOptions options = Options(4, 8);
    options.search = search;
    Stream stream(model, options);
    stream.AcceptSamples(samples.data(), samples.size());
    EXPECT_EQ(DecodeChunks({&stream}), 1U);
    ASSERT_NE(stream.failure(), "");
    stream = Restored(stream, model);
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Finish();
    stream = Restored(stream, model);
    EXPECT_FALSE(stream.IsFinal());
  }
}

TEST(SnapshotTest, FingerprintsNameTheModelAndHowItComputes) {
  EXPECT_EQ(Tiny()->fingerprint().size(), 32U);
  EXPECT_EQ(Model::Load(TinyModelPath())->fingerprint(), Tiny()->fingerprint());
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(TinyModelPath());
  std::set<std::string> all = {Tiny()->fingerprint()};
  const auto expect_another = [&](const std::map<std::string, Tensor>& tensors,
                                  const std::string& config, const std::string& units) {
    testing::WriteArchive(folder.File("m.pt"), tensors,
                          {{"runnel.json", config}, {"units.txt", units}});
    EXPECT_TRUE(all.insert(Model::Load(folder.File("m.pt"))->fingerprint()).second);
  };
  std::map<std::string, Tensor> tensors = archive.tensors;
  Tensor& bias = tensors.at("ctc.ctc_lo.bias");
  std::vector<float> biases = Float32Values(bias);
  biases[0] += 1e-3F;
  bias = Tensor(bias.shape(), std::move(biases));
  expect_another(tensors, archive.config_json, archive.units_text);
  std::string config = archive.config_json;
  const size_t place = config.find("\"min_chunk_size\": 1");
  ASSERT_NE(place, std::string::npos);
  expect_another(archive.tensors, config.replace(place, 19, "\"min_chunk_size\": 2"),
                 archive.units_text);
  std::string units = archive.units_text;
  units.replace(units.find("b "), 2, "x ");
  expect_another(archive.tensors, archive.config_json, units);

  testing::WriteArchive(folder.File("m.pt"), archive.tensors,
                        {{"runnel.json", archive.config_json}, {"units.txt", archive.units_text}});
  EXPECT_EQ(Model::Load(folder.File("m.pt"))->fingerprint(), Tiny()->fingerprint());
}

TEST(SnapshotTest, SizeIsThatOfWhatIsRemembered) {
  Stream stream(Tiny(), Options(4, 8));
  const std::vector<float> samples = NoiseOfChangingLevel(16000, 8);
  std::vector<size_t> sizes;
  for (int second = 0; second < 30; ++second) {
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Decode();
    // All but the tokens.
    sizes.push_back(stream.Snapshot().size() - 24 * stream.Best().tokens.size());
  }
  const auto [smallest, largest] = std::minmax_element(sizes.begin() + 2, sizes.end());
  EXPECT_LE(*largest - *smallest, 4 * 640 * sizeof(float));  // a chunk of samples
}

}  // namespace
}  // namespace runnel
