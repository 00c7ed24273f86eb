// Ways to run what follows the encoder that must all give the same results: the language prompt,
// the transducer and the attention decoder, by Runnel and by the model file's TorchScript.
#ifndef RUNNEL_TOOLS_VERIFICATION_HEAD_RUNS_H_
#define RUNNEL_TOOLS_VERIFICATION_HEAD_RUNS_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "attention_decoder/attention_decoder.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/streaming_config.h"
#include "tools/reference/torchscript_model.h"
#include "transducer/language_prompt.h"
#include "transducer/transducer.h"

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

// The output of the joint network along an alignment: in every frame, after the tokens before it
// and after each of its own. (evaluations, vocab_size + durations); log probabilities of tokens and
// of durations, each group normalised alone.
at::Tensor JointLogProbs(const Transducer& transducer, const at::Tensor& heads_input,
                         const std::vector<EmittedToken>& alignment);
at::Tensor JointLogProbs(const TorchScriptModel& script, const TransducerConfig& config,
                         const at::Tensor& heads_input, const std::vector<EmittedToken>& alignment);

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

#endif  // RUNNEL_TOOLS_VERIFICATION_HEAD_RUNS_H_
