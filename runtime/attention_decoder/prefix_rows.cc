#include "runtime/attention_decoder/prefix_rows.h"

#include <algorithm>
#include <cstddef>

namespace runnel {

int64_t PrefixRows::AddUtterance(int32_t token) {
  utterances_.push_back({count(), 0});
  return Add({token, -1, 0});
}

int64_t PrefixRows::Extend(int64_t row, int32_t token) {
  const auto [found, is_new] = rows_after_.try_emplace({row, token}, count());
  if (is_new) Add({token, row, position(row) + 1});
  return found->second;
}

void PrefixRows::PathTo(int64_t row, std::vector<int64_t>* path) const {
  path->resize(static_cast<size_t>(position(row) + 1));
  for (auto place = path->rbegin(); place != path->rend(); ++place) {
    *place = row;
    row = At(row).parent;
  }
}

int64_t PrefixRows::Add(const Row& row) {
  rows_.push_back(row);
  ++utterances_.back().count;
  num_positions_ = std::max(num_positions_, row.position + 1);
  return count() - 1;
}

}  // namespace runnel
