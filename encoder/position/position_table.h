// The projected sinusoids of relative attention, W_pos PE(r) for every distance r that is asked
// for. Flow: packets -> frontend -> encoder (this) -> runtime -> tools. One per layer.
#ifndef RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_
#define RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>

#include "encoder/dense.h"
#include "encoder/position/sinusoids.h"

namespace runnel {

// What stands in the row of distance r, in the words of the model file.
enum class TableOrder {
  kDescending,  // PE(r), r = query frame - key frame (Transformer-XL, ESPnet, NeMo)
  kAscending    // PE(-r) (icefall)
};

// Distances are query frame minus key frame (Dai et al. 2019, section 3.3). The table of a chunk of
// C frames with M frames of left context is a slice of this one, and so is that of a shorter left
// context or an unfinished chunk: each row is computed once per layer and shared by all streams.
//
// A row has the same bits whatever was asked for before: rows are computed in blocks of fixed size
// and place, because a product's rounding may depend on the number of its rows.
//
// Rows may be called from several threads at once.
class PositionTable {
 public:
  // linear_pos: d to d; model_dim is d, even.
  PositionTable(Linear linear_pos, int64_t model_dim, TableOrder order);

  // (first - last + 1, d): rows of the distances first, first - 1, ..., last. The tensor is shared
  // and must not be written to.
  at::Tensor Rows(int64_t first, int64_t last) const;

 private:
  // Rows of whole blocks, highest distance first. Block b holds the distances
  // b * kBlockSize + (kBlockSize - 1) down to b * kBlockSize.
  struct Blocks {
    at::Tensor rows;
    int64_t first = 0;  // lowest block
    int64_t end = 0;    // one past the highest
  };

  at::Tensor ComputeBlock(int64_t block) const;

  // Blocks first_block .. end_block-1, those of `known` taken from there.
  at::Tensor ComputeRows(int64_t first_block, int64_t end_block, const Blocks& known) const;

  Blocks Remembered() const;
  void Remember(const Blocks& blocks) const;

  Linear linear_pos_;
  Sinusoids sinusoids_;
  TableOrder order_;
  // What is remembered: a memo, no state that results depend on. Nothing is computed under its
  // lock. Behind a pointer because a mutex cannot be moved with its layer.
  struct Memo {
    std::mutex mutex;
    Blocks blocks;
  };
  std::unique_ptr<Memo> memo_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_
