// The errors between two runs of the encoder, layer by layer.
#ifndef RUNNEL_TOOLS_REFERENCE_LAYER_ERRORS_H_
#define RUNNEL_TOOLS_REFERENCE_LAYER_ERRORS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder.h"
#include "tools/verification/check.h"

namespace runnel {

// The output of every layer, with all chunks of a run concatenated.
class LayerRecorder {
 public:
  // The observer must not outlive the recorder.
  LayerObserver Observer();

  // Names of the layers, in order of computation.
  const std::vector<std::string>& names() const { return names_; }
  // (T', model_dim)
  at::Tensor Rows(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<at::Tensor>> rows_;
};

// The largest difference per layer, over any number of pairs of runs.
class LayerErrors {
 public:
  void Add(const LayerRecorder& actual, const LayerRecorder& expected);

  const std::vector<std::pair<std::string, Difference>>& errors() const { return errors_; }

 private:
  std::vector<std::pair<std::string, Difference>> errors_;  // in order of computation
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_LAYER_ERRORS_H_
