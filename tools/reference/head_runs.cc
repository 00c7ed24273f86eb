#include "tools/reference/head_runs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "encoder/libtorch/tensor_rows.h"
#include "runtime/search/transducer_search.h"
#include "runtime/stream.h"
#include "runtime/stream/transducer_decoding.h"

namespace runnel {
namespace {

constexpr uint64_t kLongestHeadPacket = 4000;  // samples
constexpr int64_t kMostRandomTokens = 32;

at::Tensor ToTensor(const Matrix& matrix) { return libtorch::View(matrix.rows()).clone(); }

SearchOptions GreedyTransducer() {
  SearchOptions options;
  options.head = Head::kTransducer;
  return options;
}

int32_t RandomToken(int vocab_size, std::mt19937_64* random) {
  return static_cast<int32_t>((*random)() % static_cast<uint64_t>(vocab_size));
}

// Feeds the same samples as all others to one stream, at its own pace.
class StreamFeeder {
 public:
  StreamFeeder(const std::shared_ptr<const Model>& model, const StreamingSetting& setting,
               const std::vector<float>& samples)
      : stream_(model, Options(setting)), samples_(&samples) {}

  Stream& stream() { return stream_; }
  bool is_final() const { return stream_.IsFinal(); }

  // Accepts one more packet; after the last one, ends the audio.
  void AcceptPacket(std::mt19937_64* random) {
    if (stream_.finished()) return;
    const size_t size =
        std::min<size_t>(1 + (*random)() % kLongestHeadPacket, samples_->size() - num_accepted_);
    stream_.AcceptSamples(samples_->data() + num_accepted_, size);
    num_accepted_ += size;
    if (num_accepted_ == samples_->size()) stream_.Finish();
  }

  std::vector<EmittedToken> Tokens() const {
    std::vector<EmittedToken> tokens;
    for (const Token& token : stream_.TokensSince(0)) tokens.push_back({token.id, token.frame});
    return tokens;
  }

 private:
  static StreamOptions Options(const StreamingSetting& setting) {
    StreamOptions options;
    options.chunk_size = setting.chunk_size;
    options.left_context = setting.left_context;
    options.right_context = setting.right_context;
    options.cached_windows = setting.cached_windows;
    options.search = GreedyTransducer();
    return options;
  }

  Stream stream_;
  const std::vector<float>* samples_;
  size_t num_accepted_ = 0;
};

// One evaluation of the joint network: of a frame, after so many tokens.
struct JointPoint {
  int64_t frame;
  int64_t num_tokens;
};

std::vector<JointPoint> PointsAlong(const std::vector<EmittedToken>& alignment,
                                    int64_t num_frames) {
  std::vector<JointPoint> points;
  size_t num_tokens = 0;
  for (int64_t frame = 0; frame < num_frames; ++frame) {
    points.push_back({frame, static_cast<int64_t>(num_tokens)});
    while (num_tokens < alignment.size() && alignment[num_tokens].frame == frame) {
      points.push_back({frame, static_cast<int64_t>(++num_tokens)});
    }
  }
  return points;
}

// The predictor's states after `start` and after each token of an alignment.
std::vector<SharedPredictorState> StatesFrom(const SharedPredictorState& start,
                                             const Transducer& transducer,
                                             const std::vector<EmittedToken>& alignment) {
  std::vector<SharedPredictorState> states = {start};
  for (const EmittedToken& token : alignment) {
    states.push_back(transducer.Advance({{states.back().get(), token.id}}).front());
  }
  return states;
}

// The most probable label, and duration if there are any, of each row: (rows, 1 or 2).
at::Tensor BestLabels(const at::Tensor& log_probs, const TransducerConfig& config) {
  at::Tensor labels = log_probs.slice(1, 0, config.vocab_size).argmax(1, true);
  if (config.durations.empty()) return labels;
  return at::cat({labels, log_probs.slice(1, config.vocab_size).argmax(1, true)}, 1);
}

bool IsLstm(const TransducerConfig& config) {
  return std::holds_alternative<LstmPredictorConfig>(config.predictor);
}

// The script's states, (sequences, ...), in the order of PredictorState::memory, (sequences,
// values). The script has the hidden states of all LSTM layers first, Runnel those of a layer
// beside its cells.
at::Tensor AsMemories(const at::Tensor& states, const TransducerConfig& config) {
  return (IsLstm(config) ? states.transpose(1, 2) : states).flatten(1);
}

// The reverse; `like`: states of the script.
at::Tensor AsScriptStates(const at::Tensor& memories, const at::Tensor& like,
                          const TransducerConfig& config) {
  std::vector<int64_t> shape = like.sizes().vec();
  shape[0] = memories.size(0);
  if (!IsLstm(config)) return memories.view(shape);
  std::swap(shape[1], shape[2]);
  return memories.view(shape).transpose(1, 2);
}

// The sum of the log probabilities of the tokens and of the end, each in its row.
double SumOfTerms(const at::Tensor& log_probs, const std::vector<int32_t>& tokens, int eos_id) {
  double sum = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const int32_t token = i < tokens.size() ? tokens[i] : eos_id;
    sum += log_probs[static_cast<int64_t>(i)][token].item<double>();
  }
  return sum;
}

}  // namespace

size_t NumDifferent(const std::vector<EmittedToken>& a, const std::vector<EmittedToken>& b) {
  const size_t common = std::min(a.size(), b.size());
  size_t count = std::max(a.size(), b.size()) - common;
  for (size_t i = 0; i < common; ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

size_t NumEqual(const std::vector<EmittedToken>& a, const std::vector<EmittedToken>& b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(ends.first - a.begin());
}

at::Tensor HeadsInput(const ModelParts& parts, const at::Tensor& encoder_rows) {
  return ToTensor(parts.HeadsInput(Matrix(libtorch::View(encoder_rows))));
}

at::Tensor ApplyPrompt(const LanguagePrompt& prompt, const at::Tensor& encoder_rows,
                       int64_t language) {
  const std::vector<int64_t> languages(static_cast<size_t>(encoder_rows.size(0)), language);
  return ToTensor(prompt.Apply(libtorch::View(encoder_rows), languages));
}

std::vector<int64_t> TwoLanguages(const LanguagePromptConfig& config) {
  std::vector<int64_t> languages = {config.IndexOf("")};
  for (size_t i = 0; i < config.languages.size() && languages.size() < 2; ++i) {
    const auto index = static_cast<int64_t>(i);
    if (!config.languages[i].empty() && index != languages.front()) languages.push_back(index);
  }
  return languages;
}

std::vector<EmittedToken> SearchWhole(const Transducer& transducer, const at::Tensor& heads_input) {
  const std::unique_ptr<TransducerSearch> search =
      MakeTransducerSearch(GreedyTransducer(), transducer);
  const Matrix projected = transducer.ProjectEncoder(libtorch::View(heads_input));
  std::vector<TransducerSegment> segments(1);
  segments[0].search = search.get();
  segments[0].encoder = projected.rows();
  segments[0].after_frame = [] {};
  SearchTransducer(transducer, &segments);
  if (!segments[0].error.empty()) throw std::runtime_error(segments[0].error);
  std::vector<EmittedToken> tokens;
  for (const TokenSpan& token : search->BestTokensSince(0)) {
    tokens.push_back({token.id, token.first_frame});
  }
  return tokens;
}

std::vector<std::vector<EmittedToken>> SearchStreams(const std::shared_ptr<const Model>& model,
                                                     const std::vector<float>& samples,
                                                     const std::vector<StreamingSetting>& settings,
                                                     std::mt19937_64* random) {
  std::vector<StreamFeeder> feeders;
  for (const StreamingSetting& setting : settings) feeders.emplace_back(model, setting, samples);
  const auto is_final = [](const StreamFeeder& feeder) { return feeder.is_final(); };
  while (!std::all_of(feeders.begin(), feeders.end(), is_final)) {
    std::vector<Stream*> ready;
    for (StreamFeeder& feeder : feeders) {
      if (!feeder.stream().failure().empty()) throw std::runtime_error(feeder.stream().failure());
      if ((*random)() % 2 == 0) feeder.AcceptPacket(random);
      if (feeder.stream().ChunkReady()) ready.push_back(&feeder.stream());
    }
    std::shuffle(ready.begin(), ready.end(), *random);
    if (!ready.empty()) ready.resize(1 + (*random)() % ready.size());
    DecodeChunks(ready);
  }
  std::vector<std::vector<EmittedToken>> tokens;
  for (const StreamFeeder& feeder : feeders) tokens.push_back(feeder.Tokens());
  return tokens;
}

std::vector<EmittedToken> RandomTokens(const TransducerConfig& config, int64_t num_frames,
                                       std::mt19937_64* random) {
  std::vector<EmittedToken> tokens;
  if (config.vocab_size == 1) return tokens;  // the blank
  for (int64_t i = 0; i < std::min(num_frames, kMostRandomTokens); ++i) {
    int32_t id = RandomToken(config.vocab_size - 1, random);
    if (id >= config.blank_id) ++id;
    tokens.push_back({id, static_cast<int64_t>((*random)() % static_cast<uint64_t>(num_frames))});
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const EmittedToken& a, const EmittedToken& b) { return a.frame < b.frame; });
  return tokens;
}

std::vector<SharedPredictorState> PredictorStates(const Transducer& transducer,
                                                  const std::vector<EmittedToken>& alignment) {
  return StatesFrom(transducer.Start(), transducer, alignment);
}

size_t NumCertain(const Transducer& transducer, const at::Tensor& heads_input,
                  const std::vector<EmittedToken>& alignment, double rounding) {
  const PredictorState& start = *transducer.Start();
  const at::Tensor memory = ToTensor(start.memory) * (1 + rounding);
  const auto other_start = std::make_shared<const PredictorState>(
      PredictorState{Matrix(libtorch::View(memory)), start.input});
  const TransducerConfig& config = transducer.config();
  const at::Tensor best = BestLabels(
      JointLogProbs(transducer, heads_input, alignment, PredictorStates(transducer, alignment)),
      config);
  const at::Tensor other_best =
      BestLabels(JointLogProbs(transducer, heads_input * (1 + rounding), alignment,
                               StatesFrom(other_start, transducer, alignment)),
                 config);
  const std::vector<JointPoint> points = PointsAlong(alignment, heads_input.size(0));
  for (size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    if (!best[row].equal(other_best[row])) return static_cast<size_t>(points[i].num_tokens);
  }
  return alignment.size();
}

at::Tensor Memories(const std::vector<SharedPredictorState>& states) {
  std::vector<at::Tensor> rows;
  for (const SharedPredictorState& state : states) rows.push_back(ToTensor(state->memory));
  return at::cat(rows, 0);
}

ScriptPredictor StepScript(const TorchScriptModel& script, const TransducerConfig& config,
                           const std::vector<EmittedToken>& alignment,
                           const std::vector<SharedPredictorState>& states) {
  std::vector<int32_t> tokens = {config.blank_id};
  for (const EmittedToken& token : alignment) tokens.push_back(token.id);
  at::Tensor before = script.InitialPredictorState();
  if (!alignment.empty()) {
    const std::vector<SharedPredictorState> shared(states.begin(), states.end() - 1);
    before = at::cat({before, AsScriptStates(Memories(shared), before, config)}, 0);
  }
  const TorchScriptModel::PredictorStep step = script.StepPredictor(tokens, before);
  return {AsMemories(step.states, config), step.outputs};
}

at::Tensor JointLogProbs(const Transducer& transducer, const at::Tensor& heads_input,
                         const std::vector<EmittedToken>& alignment,
                         const std::vector<SharedPredictorState>& states) {
  const Matrix projected = transducer.ProjectEncoder(libtorch::View(heads_input));
  std::vector<JointQuery> queries;
  for (const JointPoint& point : PointsAlong(alignment, heads_input.size(0))) {
    queries.push_back({projected.rows().Part(point.frame, 1),
                       states[static_cast<size_t>(point.num_tokens)].get()});
  }
  return ToTensor(transducer.LogProbs(queries));
}

at::Tensor JointLogProbs(const TorchScriptModel& script, const TransducerConfig& config,
                         const at::Tensor& heads_input, const std::vector<EmittedToken>& alignment,
                         const at::Tensor& predictor_outputs) {
  std::vector<int64_t> frames;
  std::vector<int64_t> num_tokens;
  for (const JointPoint& point : PointsAlong(alignment, heads_input.size(0))) {
    frames.push_back(point.frame);
    num_tokens.push_back(point.num_tokens);
  }
  const at::Tensor logits =
      script.JointLogits(heads_input.index_select(0, at::tensor(frames, at::kLong)),
                         predictor_outputs.index_select(0, at::tensor(num_tokens, at::kLong)));
  at::Tensor log_probs = logits.slice(1, 0, config.vocab_size).log_softmax(1);
  if (config.durations.empty()) return log_probs;
  return at::cat({log_probs, logits.slice(1, config.vocab_size).log_softmax(1)}, 1);
}

std::vector<std::vector<int32_t>> RandomHypotheses(int vocab_size, std::mt19937_64* random) {
  constexpr size_t kLength = 12;
  std::vector<int32_t> tokens(kLength);
  for (int32_t& token : tokens) token = RandomToken(vocab_size, random);
  std::vector<int32_t> beginning(tokens.begin(), tokens.begin() + kLength / 2);
  beginning.push_back(RandomToken(vocab_size, random));
  return {{}, {tokens.back()}, beginning, tokens};
}

DecoderScores ScoreHypotheses(const AttentionDecoder& decoder, const at::Tensor& heads_input,
                              const std::vector<std::vector<int32_t>>& hypotheses) {
  const bool has_right = decoder.config().right_layers > 0;
  RescoringQuery query;
  query.encoder = libtorch::View(heads_input);
  query.hypotheses = hypotheses;
  query.reverse_weight = has_right ? 0.5 : 0;
  std::vector<double> left;
  std::vector<double> right;
  const std::vector<std::vector<RescoringScores>> scores = decoder.Score({query});
  for (const RescoringScores& score : scores.front()) {
    left.push_back(score.left);
    right.push_back(score.right);
  }
  return {at::tensor(left, at::kDouble), has_right ? at::tensor(right, at::kDouble) : at::Tensor()};
}

DecoderScores ScoreHypotheses(const TorchScriptModel& script, const AttentionDecoderConfig& config,
                              const at::Tensor& heads_input,
                              const std::vector<std::vector<int32_t>>& hypotheses) {
  const bool has_right = config.right_layers > 0;
  std::vector<double> left;
  std::vector<double> right;
  for (const std::vector<int32_t>& tokens : hypotheses) {
    left.push_back(
        SumOfTerms(script.DecoderLogProbs(heads_input, tokens, false), tokens, config.eos_id));
    if (!has_right) continue;
    right.push_back(SumOfTerms(script.DecoderLogProbs(heads_input, tokens, true),
                               {tokens.rbegin(), tokens.rend()}, config.eos_id));
  }
  return {at::tensor(left, at::kDouble), has_right ? at::tensor(right, at::kDouble) : at::Tensor()};
}

}  // namespace runnel
