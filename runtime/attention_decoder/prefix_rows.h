// The rows of a batch of hypotheses: one row per different beginning of an utterance's hypotheses.
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ROWS_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ROWS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "encoder/rows.h"

namespace runnel {

// Rows first .. first + count - 1 of a matrix.
struct RowRange {
  int64_t first = 0;
  int64_t count = 0;
};

// A prefix tree per utterance. A decoder's row of a token depends on the tokens up to it and on the
// encoder frames only, and the hypotheses of a beam begin alike, so each beginning is computed
// once.
class PrefixRows {
 public:
  // Starts the next utterance with `token`, which all its hypotheses begin with; returns its row.
  int64_t AddUtterance(int32_t token);

  // The row of the beginning that ends at `row`, of the last utterance, and `token` after it. A new
  // row is the last one.
  int64_t Extend(int64_t row, int32_t token);

  int64_t count() const { return static_cast<int64_t>(rows_.size()); }
  int32_t token(int64_t row) const { return At(row).token; }
  // Index of the token in its hypotheses; 0 is the first.
  int64_t position(int64_t row) const { return At(row).position; }
  int64_t num_positions() const { return num_positions_; }

  // The rows of the tokens up to that of `row`, first token first.
  void PathTo(int64_t row, std::vector<int64_t>* path) const;

  // The rows of each utterance.
  const std::vector<RowRange>& utterances() const { return utterances_; }

 private:
  struct Row {
    int32_t token;
    int64_t parent;  // row of the token before; of position 0: none
    int64_t position;
  };

  const Row& At(int64_t row) const { return rows_[static_cast<size_t>(row)]; }
  int64_t Add(const Row& row);

  std::vector<Row> rows_;
  std::vector<RowRange> utterances_;
  std::map<std::pair<int64_t, int32_t>, int64_t> rows_after_;  // by row and token after it
  int64_t num_positions_ = 0;
};

// What a decoder computes in one pass.
struct DecoderBatch {
  PrefixRows prefixes;
  Matrix encoder;                        // (frames, model_dim), of all utterances
  std::vector<RowRange> encoder_frames;  // of each utterance
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_PREFIX_ROWS_H_
