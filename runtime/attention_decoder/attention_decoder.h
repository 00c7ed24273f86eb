// Scores of hypotheses by an attention decoder: the second pass of U2 and U2++ models.
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/rows.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/attention_decoder/transformer_decoder.h"

namespace runnel {

class Weights;

// The hypotheses of one utterance.
struct RescoringQuery {
  // (frames, model_dim), at least one, of the backend's data type. Must stay alive during the call.
  ConstRows encoder;
  std::vector<std::vector<int32_t>> hypotheses;  // token ids; may be empty lists
  // Weight that the caller gives to right scores. They are not computed for 0.
  double reverse_weight = 0;
};

// Natural logarithms of the probability of a hypothesis, the end of the sentence included.
struct RescoringScores {
  double left = 0;   // from left to right
  double right = 0;  // from right to left; 0 where it is not computed
};

// Immutable: Score may be called from several threads at once. On the CPU backend no result depends
// on what else is in the batch.
//
// A direction is one pass of its network over all hypotheses: each linear layer multiplies the rows
// of all utterances at once, without padding. Hypotheses of an utterance that begin alike share the
// rows of their beginning. Keys and values of encoder frames are computed once per utterance and
// layer. At a time memory holds about 7 model_dim values per row and 4 per encoder frame.
class AttentionDecoder {
 public:
  // Takes the tensors named attention_decoder.*. model_dim: of the encoder frames, a multiple of
  // the config's num_heads. Throws std::runtime_error as Weights does. `backend` is used during the
  // call only.
  AttentionDecoder(const AttentionDecoderConfig& config, int64_t model_dim,
                   const EncoderBackend& backend, Weights* weights);

  const AttentionDecoderConfig& config() const { return config_; }

  // For each query the scores of its hypotheses, in their order. Right scores are 0 where the model
  // has no decoder from right to left. Throws std::invalid_argument for rows of another width or
  // type, for no rows, and for ids outside the vocabulary.
  std::vector<std::vector<RescoringScores>> Score(const std::vector<RescoringQuery>& queries) const;

 private:
  void Check(const RescoringQuery& query) const;

  AttentionDecoderConfig config_;
  int64_t model_dim_;
  DataType type_;
  TransformerDecoder left_;
  std::optional<TransformerDecoder> right_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_H_
