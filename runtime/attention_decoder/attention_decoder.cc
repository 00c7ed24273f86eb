#include "runtime/attention_decoder/attention_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/model_file/weights.h"
#include "runtime/attention_decoder/attention_decoder_weights.h"
#include "runtime/attention_decoder/prefix_rows.h"

namespace runnel {
namespace {

// The log probabilities of so many rows are in memory at a time.
constexpr int64_t kBlockRows = 256;

// One pass of a decoder, and the log probabilities that each hypothesis adds up.
class ScoringPass {
 public:
  ScoringPass(const AttentionDecoderConfig& config, int64_t model_dim, DataType type)
      : config_(config), batch_{PrefixRows(), Matrix(type, model_dim), {}} {}

  void AddUtterance(ConstRows encoder) {
    batch_.encoder_frames.push_back({batch_.encoder.count(), encoder.count});
    std::memcpy(batch_.encoder.AddRows(encoder.count).data, encoder.data,
                static_cast<size_t>(encoder.count * encoder.dim * BytesOf(encoder.type)));
    first_row_ = batch_.prefixes.AddUtterance(config_.sos_id);
  }

  // A hypothesis of the last utterance. Run adds its log probability to `score`.
  template <class Iterator>
  void AddHypothesis(Iterator begin, Iterator end, double* score) {
    int64_t row = first_row_;
    for (; begin != end; ++begin) {
      terms_.push_back({row, *begin, score});
      row = batch_.prefixes.Extend(row, *begin);
    }
    terms_.push_back({row, config_.eos_id, score});
  }

  void Run(const TransformerDecoder& decoder) {
    if (terms_.empty()) return;
    // The terms of a hypothesis keep their order, because rows of a path ascend: its sum is rounded
    // as if it were alone.
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const Term& a, const Term& b) { return a.row < b.row; });
    const Matrix rows = decoder.Forward(batch_);
    auto term = terms_.begin();
    for (int64_t first = 0; first < rows.count(); first += kBlockRows) {
      const int64_t count = std::min(kBlockRows, rows.count() - first);
      const Matrix log_probs = decoder.LogProbs(rows.rows().Part(first, count));
      for (; term != terms_.end() && term->row < first + count; ++term) {
        const ConstRows row = log_probs.rows().Part(term->row - first, 1);
        *term->score += row.type == DataType::kFloat64 ? row.float64()[term->token]
                                                       : double{row.float32()[term->token]};
      }
    }
  }

 private:
  // The log probability of `token` after `row`.
  struct Term {
    int64_t row;
    int32_t token;
    double* score;
  };

  const AttentionDecoderConfig& config_;
  DecoderBatch batch_;
  int64_t first_row_ = 0;  // of the last utterance
  std::vector<Term> terms_;
};

}  // namespace

AttentionDecoder::AttentionDecoder(const AttentionDecoderConfig& config, int64_t model_dim,
                                   const EncoderBackend& backend, Weights* weights)
    : config_(config),
      model_dim_(model_dim),
      type_(backend.data_type()),
      left_(config, BindTransformerDecoder(config, "left", config.left_layers, model_dim, weights),
            model_dim, backend) {
  if (config.right_layers == 0) return;
  right_.emplace(config,
                 BindTransformerDecoder(config, "right", config.right_layers, model_dim, weights),
                 model_dim, backend);
}

void AttentionDecoder::Check(const RescoringQuery& query) const {
  const ConstRows& encoder = query.encoder;
  if (encoder.count < 1 || encoder.dim != model_dim_) {
    throw std::invalid_argument("rescoring was given " + std::to_string(encoder.count) +
                                " encoder rows of width " + std::to_string(encoder.dim) +
                                ", expected at least one of width " + std::to_string(model_dim_));
  }
  if (encoder.type != type_) {
    throw std::invalid_argument(
        "rescoring was given encoder rows of another data type than the model's");
  }
  for (const std::vector<int32_t>& tokens : query.hypotheses) {
    for (const int32_t token : tokens) {
      if (token >= 0 && token < config_.vocab_size) continue;
      throw std::invalid_argument("a hypothesis holds token " + std::to_string(token) +
                                  ", expected 0 to " + std::to_string(config_.vocab_size - 1));
    }
  }
}

std::vector<std::vector<RescoringScores>> AttentionDecoder::Score(
    const std::vector<RescoringQuery>& queries) const {
  std::vector<std::vector<RescoringScores>> scores;
  for (const RescoringQuery& query : queries) {
    Check(query);
    scores.emplace_back(query.hypotheses.size());
  }
  ScoringPass left(config_, model_dim_, type_);
  ScoringPass right(config_, model_dim_, type_);
  for (size_t q = 0; q < queries.size(); ++q) {
    const RescoringQuery& query = queries[q];
    if (query.hypotheses.empty()) continue;
    const bool needs_right = right_.has_value() && query.reverse_weight != 0;
    left.AddUtterance(query.encoder);
    if (needs_right) right.AddUtterance(query.encoder);
    for (size_t h = 0; h < query.hypotheses.size(); ++h) {
      const std::vector<int32_t>& tokens = query.hypotheses[h];
      left.AddHypothesis(tokens.begin(), tokens.end(), &scores[q][h].left);
      if (needs_right) right.AddHypothesis(tokens.rbegin(), tokens.rend(), &scores[q][h].right);
    }
  }
  left.Run(left_);
  if (right_.has_value()) right.Run(*right_);
  return scores;
}

}  // namespace runnel
