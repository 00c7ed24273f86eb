#include "tools/reference/layer_errors.h"

#include <ATen/ops/cat.h>

#include <cstddef>

#include "encoder/libtorch/tensor_rows.h"
#include "tools/reference/comparison.h"

namespace runnel {

LayerObserver LayerRecorder::Observer() {
  return [this](const std::string& name, ConstRows rows) {
    std::vector<at::Tensor>& parts = rows_[name];
    if (parts.empty()) names_.push_back(name);
    parts.push_back(libtorch::View(rows).clone());
  };
}

at::Tensor LayerRecorder::Rows(const std::string& name) const { return at::cat(rows_.at(name), 0); }

void LayerErrors::Add(const LayerRecorder& actual, const LayerRecorder& expected) {
  for (size_t i = 0; i < expected.names().size(); ++i) {
    const std::string& name = expected.names()[i];
    if (i == errors_.size()) errors_.emplace_back(name, Difference());
    errors_[i].second.Add(DifferenceBetween(actual.Rows(name), expected.Rows(name)));
  }
}

}  // namespace runnel
