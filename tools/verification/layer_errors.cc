#include "tools/verification/layer_errors.h"

#include <ATen/ops/cat.h>

#include <cstddef>

namespace runnel {

LayerObserver LayerRecorder::Observer() {
  return [this](const std::string& name, const at::Tensor& rows) {
    std::vector<at::Tensor>& parts = rows_[name];
    if (parts.empty()) names_.push_back(name);
    parts.push_back(rows.clone());
  };
}

at::Tensor LayerRecorder::Rows(const std::string& name) const { return at::cat(rows_.at(name), 0); }

void LayerErrors::Add(const LayerRecorder& actual, const LayerRecorder& expected) {
  for (size_t i = 0; i < expected.names().size(); ++i) {
    const std::string& name = expected.names()[i];
    if (i == errors_.size()) errors_.emplace_back(name, Difference());
    errors_[i].second.Add(actual.Rows(name), expected.Rows(name));
  }
}

}  // namespace runnel
