#include "tests/support/random_heads.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <variant>

#include "encoder/encoder_weights.h"
#include "encoder/json/json_section.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "frontend/feature_stream.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/attention_decoder/attention_decoder_weights.h"
#include "runtime/hotwords.h"
#include "runtime/model/model_parts.h"
#include "runtime/transducer/transducer_config.h"
#include "runtime/transducer/transducer_weights.h"
#include "tests/support/archive_files.h"
#include "tests/support/random_encoder.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel::testing {
namespace {

using nlohmann::json;

constexpr int64_t kModelDim = 16;  // of the tiny model, which has 7 tokens, blank 0
// What the joint network's weights are multiplied by: decisions are clear, and the audio counts for
// more than the tokens before, or one token would follow itself forever.
constexpr double kOutputScale = 6;
constexpr double kEncoderScale = 2;
constexpr double kPredictorScale = 0.3;

struct Recipe {
  std::string name;
  std::string predictor;
  std::string beam;
  std::vector<int64_t> durations;
  int max_symbols;
  bool has_ctc;
  uint64_t seed;
  float blank_bias;  // these two: found by trial, for some tokens of several kinds per second
};

Recipe RecipeOf(Heads heads) {
  const std::string lstm2 =
      R"({"type": "lstm", "embedding_dim": 5, "hidden_dim": 7, "num_layers": 2, "output_dim": 9})";
  const std::string lstm1 =
      R"({"type": "lstm", "embedding_dim": 5, "hidden_dim": 7, "num_layers": 1,
          "output_dim": null})";
  const std::string conv =
      R"({"type": "conv", "embedding_dim": 6, "context_size": 2, "groups": 2, "bias": false,
          "norm_epsilon": null, "activation": "relu"})";
  const std::string embedding =
      R"({"type": "embedding", "embedding_dim": 6, "context_size": 3, "num_heads": 2,
          "norm_epsilon": 1e-5, "activation": "swish"})";
  switch (heads) {
    case Heads::kLstm:
      return {"RNN-T", lstm2, "time_synchronous", {}, 3, false, 9, 5};
    case Heads::kTdt:
      return {"TDT", lstm1, "time_synchronous", {0, 1, 2, 4}, 3, false, 3, 6};
    case Heads::kStateless:
      return {"stateless", conv, "modified", {}, 1, false, 7, 6};
    case Heads::kHybrid:
      return {"hybrid", embedding, "prefix", {}, 3, true, 3, 8};
    case Heads::kPrompt:
      return {"prompt", lstm1, "time_synchronous", {}, 3, true, 34, 4};
    case Heads::kDecoder:
      return {"decoder", lstm2, "time_synchronous", {}, 3, true, 9, 5};
    case Heads::kKinds:
      return {"kinds", lstm1, "time_synchronous", {}, 3, true, 9, 5};
  }
  throw std::logic_error("heads without a recipe");
}

json TransducerJson(const Recipe& recipe) {
  return {{"vocab_size", 7},
          {"blank_id", 0},
          {"predictor", json::parse(recipe.predictor)},
          {"joint",
           {{"dim", 11}, {"input_linear", true}, {"hidden_linear", false}, {"activation", "tanh"}}},
          {"durations", recipe.durations},
          {"max_symbols", recipe.max_symbols},
          {"beam", recipe.beam}};
}

void AddTransducer(const Recipe& recipe, json* config, RandomWeightSource* source) {
  (*config)["transducer"] = TransducerJson(recipe);
  const TransducerConfig parsed =
      ParseTransducerConfig(JsonSection((*config)["transducer"], "transducer", "test"));
  std::visit([&](const auto& predictor) { BindPredictor(predictor, 7, source); }, parsed.predictor);
  BindJoint(parsed, kModelDim, source);
}

void AddPrompt(json* config, RandomWeightSource* source) {
  (*config)["prompt"] = {
      {"languages", {"de", "", "en", "fr"}}, {"hidden_dim", 13}, {"default", "en"}};
  BindLinear(source, "prompt.w_1", kModelDim + 4, 13);
  BindLinear(source, "prompt.w_2", 13, kModelDim);
}

void AddAttentionDecoder(json* config, RandomWeightSource* source) {
  (*config)["attention_decoder"] = json::parse(
      R"({"vocab_size": 7, "num_heads": 2, "feed_forward_dim": 12, "left_layers": 2,
          "right_layers": 1, "norm_first": true, "activation": "relu", "layer_norm_eps": 1e-5,
          "sos_id": 6, "eos_id": 6})");
  const AttentionDecoderConfig parsed = ParseAttentionDecoderConfig(
      JsonSection((*config)["attention_decoder"], "attention_decoder", "test"), kModelDim);
  BindTransformerDecoder(parsed, "left", parsed.left_layers, kModelDim, source);
  BindTransformerDecoder(parsed, "right", parsed.right_layers, kModelDim, source);
}

// A punctuation mark and a tag in place of two letters: their times are those of the token before.
constexpr char kUnitsOfTdt[] = "<blank> 0\n▁ 1\na 2\nb 3\n<en-US> 4\nd 5\n. 6\n";

// <EOU> ends utterances. The byte begins a character that no other token completes.
constexpr char kUnitsOfKinds[] = "<blank> 0\n▁ 1\na 2\nb 3\n<EOU> 4\nd 5\n<0xC3> 6\n";

void SetKinds(json* config) {
  (*config)["format_version"] = 5;
  (*config)["special_tokens"] =
      json::parse(R"([{"id": 4, "kind": "end"}, {"id": 6, "kind": "byte"}])");
  (*config)["vocabularies"] =
      json::parse(R"([{"language": "en", "size": 3}, {"language": "de", "size": 4}])");
}

std::shared_ptr<const Model> Make(Heads heads, Precision precision) {
  const Recipe recipe = RecipeOf(heads);
  ModelArchive archive = ReadModelArchive(TinyModelPath());
  json config = json::parse(archive.config_json);
  config["format_version"] = 3;
  config["name"] = recipe.name;
  config["prompt"] = nullptr;
  config["attention_decoder"] = nullptr;
  RandomWeightSource source(DataType::kFloat32, recipe.seed);
  AddTransducer(recipe, &config, &source);
  if (heads == Heads::kPrompt) AddPrompt(&config, &source);
  if (heads == Heads::kDecoder) AddAttentionDecoder(&config, &source);
  if (!recipe.has_ctc) {
    config["ctc"] = nullptr;
    archive.tensors.erase("ctc.ctc_lo.weight");
    archive.tensors.erase("ctc.ctc_lo.bias");
  }
  for (const auto& [name, tensor] : source.taken()) archive.tensors[name] = tensor;
  const auto scale = [&archive](const std::string& name, double factor) {
    Tensor& tensor = archive.tensors[name];
    tensor = Scaled(tensor, factor);
  };
  scale("transducer.joint.out.weight", kOutputScale);
  scale("transducer.joint.encoder.weight", kEncoderScale);
  scale("transducer.joint.predictor.weight", kPredictorScale);
  Tensor& bias = archive.tensors["transducer.joint.out.bias"];
  std::vector<float> biases = Float32Values(bias);
  biases[0] += recipe.blank_bias;
  bias = Tensor(bias.shape(), std::move(biases));
  if (heads == Heads::kTdt) archive.units_text = kUnitsOfTdt;
  if (heads == Heads::kKinds) {
    archive.units_text = kUnitsOfKinds;
    SetKinds(&config);
  }
  const TemporaryFolder folder;
  const std::string path = folder.File("model.pt");
  WriteArchive(path, archive.tensors,
               {{"runnel.json", config.dump()}, {"units.txt", archive.units_text}});
  ModelOptions options;
  options.precision = precision;
  return Model::Load(path, options);
}

}  // namespace

std::string NameOf(Heads heads) { return RecipeOf(heads).name; }

std::shared_ptr<const Model> ModelWith(Heads heads, Precision precision) {
  static std::map<std::pair<Heads, Precision>, std::shared_ptr<const Model>> models;
  std::shared_ptr<const Model>& model = models[{heads, precision}];
  if (model == nullptr) model = Make(heads, precision);
  return model;
}

std::vector<StreamOptions> AllOptions(const Model& model) {
  const ModelParts& parts = model.parts();
  std::vector<SearchOptions> searches;
  const auto add_head = [&](Head head, const std::vector<SearchMethod>& beams) {
    SearchOptions search;
    search.head = head;
    searches.push_back(search);
    search.beam_size = 4;
    for (const SearchMethod beam : beams) {
      search.method = beam;
      searches.push_back(search);
    }
    search.method = SearchMethod::kPrefixBeam;
    if (parts.attention_decoder != nullptr) {
      search.rescoring.enabled = true;
      search.rescoring.reverse_weight = 0.3;
      searches.push_back(search);
      search.rescoring = RescoringOptions();
    }
    search.hotwords =
        std::make_shared<const Hotwords>("ad\nbad :2\n", model.tokens(), 1.0F, "test");
    searches.push_back(search);
  };
  std::vector<SearchMethod> beams = {SearchMethod::kPrefixBeam};
  if (parts.transducer->config().durations.empty()) beams.push_back(SearchMethod::kModifiedBeam);
  add_head(Head::kTransducer, beams);
  if (parts.ctc_head != nullptr) {
    SearchOptions mixed;
    mixed.head = Head::kTransducer;
    mixed.method = SearchMethod::kModifiedBeam;
    mixed.ctc_weight = 0.3;
    searches.push_back(mixed);
    add_head(Head::kCtc, {SearchMethod::kPrefixBeam});
  }
  std::vector<std::string> languages = model.languages();
  languages.emplace_back();  // the default
  std::vector<StreamOptions> all;
  for (size_t i = 0; i < searches.size(); ++i) {
    StreamOptions options;
    options.chunk_size = i % 2 == 0 ? 4 : 7;
    options.left_context = i % 3 == 0 ? 2 : 9;
    options.nbest = 5;
    options.search = searches[i];
    options.language = languages[i % languages.size()];
    all.push_back(options);
    options = WithEndpoints(options);
    options.language = languages[(i + 1) % languages.size()];
    options.endpoints.reset_encoder = i % 2 == 0;
    all.push_back(options);
  }
  return all;
}

std::string DescribeSearch(const StreamOptions& options) {
  const SearchOptions& search = options.search;
  return Describe(options) + (search.head == Head::kCtc ? " of CTC" : "") +
         (search.method == SearchMethod::kModifiedBeam ? ", modified" : "") +
         (search.ctc_weight > 0 ? ", CTC weight" : "") +
         (search.rescoring.enabled ? ", rescored" : "") +
         (search.hotwords != nullptr ? ", hotwords" : "") +
         (options.endpoints.enabled ? ", endpoints" : "") +
         (options.language.empty() ? "" : ", " + options.language);
}

Matrix EncoderFramesAtOnce(const Model& model, const std::vector<float>& samples,
                           const StreamOptions& options) {
  const ModelParts& parts = model.parts();
  FeatureStream features(parts.frame_extractor, parts.config.features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  const int64_t num_frames = features.NumFramesReady();
  std::vector<float> frames(static_cast<size_t>(num_frames * features.dim()));
  features.PopFrames(static_cast<size_t>(num_frames), frames.data());
  Matrix rows = parts.encoder.ForwardUnderMask(frames.data(), num_frames, options.chunk_size,
                                               options.left_context);
  if (parts.prompt == nullptr) return rows;
  const std::vector<int64_t> languages(static_cast<size_t>(rows.count()),
                                       parts.config.prompt->IndexOf(options.language));
  return parts.prompt->Apply(std::as_const(rows).rows(), languages);
}

}  // namespace runnel::testing
