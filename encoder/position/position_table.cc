#include "encoder/position/position_table.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr int64_t kBlockSize = 64;

// Wider ranges (22 minutes of audio to either side, at 40 ms) are computed anew each time, so that
// one huge utterance does not enlarge the model for good.
constexpr int64_t kMaxRememberedBlocks = int64_t{2} * 32768 / kBlockSize;

int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

PositionTable::PositionTable(Linear linear_pos, int64_t model_dim, TableOrder order)
    : linear_pos_(std::move(linear_pos)),
      sinusoids_(model_dim),
      order_(order),
      memo_(std::make_unique<Memo>()) {}

at::Tensor PositionTable::ComputeBlock(int64_t block) const {
  const int64_t last = block * kBlockSize;
  const int64_t first = last + kBlockSize - 1;
  const at::Tensor sinusoids = order_ == TableOrder::kDescending ? sinusoids_.Rows(first, last)
                                                                 : sinusoids_.Rows(-first, -last);
  return linear_pos_.Forward(sinusoids.to(linear_pos_.options()));
}

at::Tensor PositionTable::Rows(int64_t first, int64_t last) const {
  const int64_t low = FloorDivide(last, kBlockSize);
  const int64_t high = FloorDivide(first, kBlockSize) + 1;
  Blocks known = Remembered();
  if (low < known.first || high > known.end) {
    // Twice what is needed, so that a left context that grows chunk by chunk costs few refills.
    Blocks wider{{}, std::min(low, known.first), std::max(high, known.end)};
    if (high > known.end) wider.end = 2 * high;
    const bool remember = wider.end - wider.first <= kMaxRememberedBlocks;
    if (!remember) wider = {{}, low, high};
    wider.rows = ComputeRows(wider.first, wider.end, known);
    if (remember) Remember(wider);
    known = std::move(wider);
  }
  return known.rows.narrow(0, known.end * kBlockSize - 1 - first, first - last + 1);
}

at::Tensor PositionTable::ComputeRows(int64_t first_block, int64_t end_block,
                                      const Blocks& known) const {
  std::vector<at::Tensor> blocks;
  for (int64_t block = end_block - 1; block >= first_block; --block) {
    const bool is_known = block >= known.first && block < known.end;
    blocks.push_back(is_known
                         ? known.rows.narrow(0, (known.end - 1 - block) * kBlockSize, kBlockSize)
                         : ComputeBlock(block));
  }
  return at::cat(blocks, 0);
}

PositionTable::Blocks PositionTable::Remembered() const {
  const std::lock_guard<std::mutex> lock(memo_->mutex);
  return memo_->blocks;
}

void PositionTable::Remember(const Blocks& blocks) const {
  const std::lock_guard<std::mutex> lock(memo_->mutex);
  const bool is_wider = blocks.first <= memo_->blocks.first && blocks.end >= memo_->blocks.end;
  // Another thread may have remembered more meanwhile.
  if (is_wider) memo_->blocks = blocks;
}

}  // namespace runnel
