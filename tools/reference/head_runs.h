// Ways to run what follows the encoder that must all give the same results: the language prompt,
// the transducer and the attention decoder, by Runnel and by the model file's TorchScript.
#ifndef RUNNEL_TOOLS_REFERENCE_HEAD_RUNS_H_
#define RUNNEL_TOOLS_REFERENCE_HEAD_RUNS_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/streaming_config.h"
#include "runtime/transducer/language_prompt.h"
#include "runtime/transducer/transducer.h"
#include "tools/reference/torchscript_model.h"

namespace runnel {

// Rows are (T', model_dim) of the backend's data type. Log probabilities are natural logarithms.

// A token and the encoder frame that emits it.
struct EmittedToken {
  int32_t id = 0;
  int64_t frame = 0;
};

inline bool operator==(const EmittedToken& a, const EmittedToken& b) {
  return a.id == b.id && a.frame == b.frame;
}

// How many places of the two sequences hold different tokens; a place that only one has is one.
size_t NumDifferent(const std::vector<EmittedToken>& a, const std::vector<EmittedToken>& b);

// How many tokens they have in common at the beginning.
size_t NumEqual(const std::vector<EmittedToken>& a, const std::vector<EmittedToken>& b);

// ModelParts::HeadsInput.
at::Tensor HeadsInput(const ModelParts& parts, const at::Tensor& encoder_rows);

// Encoder rows after the prompt; `language`: its place in the model's list.
at::Tensor ApplyPrompt(const LanguagePrompt& prompt, const at::Tensor& encoder_rows,
                       int64_t language);

// The default language, and the first other one if there is another.
std::vector<int64_t> TwoLanguages(const LanguagePromptConfig& config);

// Greedy search of the transducer over all rows in one pass. Throws std::runtime_error when the
// probabilities are not finite.
std::vector<EmittedToken> SearchWhole(const Transducer& transducer, const at::Tensor& heads_input);

// Greedy search of the transducer in one Stream per setting, all of the same samples. Audio comes
// in packets of random size, and a random subset of the streams that have a chunk is decoded at
// every step, in one batch. Throws std::runtime_error when a stream fails.
std::vector<std::vector<EmittedToken>> SearchStreams(const std::shared_ptr<const Model>& model,
                                                     const std::vector<float>& samples,
                                                     const std::vector<StreamingSetting>& settings,
                                                     std::mt19937_64* random);

// Random tokens, none of which is the blank, in random frames below num_frames, in order of time.
std::vector<EmittedToken> RandomTokens(const TransducerConfig& config, int64_t num_frames,
                                       std::mt19937_64* random);

// The predictor's states along an alignment: after the blank and after each token.
std::vector<SharedPredictorState> PredictorStates(const Transducer& transducer,
                                                  const std::vector<EmittedToken>& alignment);

// The values of states, (states, Predictor::state_dim).
at::Tensor Memories(const std::vector<SharedPredictorState>& states);

// How many tokens of an alignment no rounding changes: those before the first evaluation of the
// joint network whose best label, or duration, is another one when the encoder rows and the
// predictor's first state differ by a factor of 1 + rounding.
size_t NumCertain(const Transducer& transducer, const at::Tensor& heads_input,
                  const std::vector<EmittedToken>& alignment, double rounding);

// The script's predictor along an alignment. It makes every step from the state that Runnel's
// predictor had, in `states`, so that no rounding adds up: the predictor of an untrained model may
// be chaotic, and then two correct ones differ after some hundred tokens.
struct ScriptPredictor {
  at::Tensor memories;  // after each step, as Memories gives them
  at::Tensor outputs;   // (steps, output_dim)
};
ScriptPredictor StepScript(const TorchScriptModel& script, const TransducerConfig& config,
                           const std::vector<EmittedToken>& alignment,
                           const std::vector<SharedPredictorState>& states);

// The output of the joint network along an alignment: in every frame, after the tokens before it
// and after each of its own. (evaluations, vocab_size + durations); log probabilities of tokens and
// of durations, each group normalised alone. The predictor's states, or outputs, are those along
// the alignment.
at::Tensor JointLogProbs(const Transducer& transducer, const at::Tensor& heads_input,
                         const std::vector<EmittedToken>& alignment,
                         const std::vector<SharedPredictorState>& states);
at::Tensor JointLogProbs(const TorchScriptModel& script, const TransducerConfig& config,
                         const at::Tensor& heads_input, const std::vector<EmittedToken>& alignment,
                         const at::Tensor& predictor_outputs);

// Token sequences to score: none, one, and several of them, two of which begin alike.
std::vector<std::vector<int32_t>> RandomHypotheses(int vocab_size, std::mt19937_64* random);

// Scores of hypotheses by the attention decoder, one each, in float64.
struct DecoderScores {
  at::Tensor left;   // (hypotheses), from left to right
  at::Tensor right;  // (hypotheses), from right to left; undefined without such a decoder
};
DecoderScores ScoreHypotheses(const AttentionDecoder& decoder, const at::Tensor& heads_input,
                              const std::vector<std::vector<int32_t>>& hypotheses);
DecoderScores ScoreHypotheses(const TorchScriptModel& script, const AttentionDecoderConfig& config,
                              const at::Tensor& heads_input,
                              const std::vector<std::vector<int32_t>>& hypotheses);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_HEAD_RUNS_H_
