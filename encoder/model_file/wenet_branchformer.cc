#include "encoder/model_file/wenet_branchformer.h"

#include <cstdint>

#include "encoder/model_file/affixes.h"

namespace runnel::wenet {
namespace {

using nlohmann::json;

// A depthwise convolution and the frames that it is padded with on the left where it is causal.
struct Convolution {
  int64_t kernel_size;
  int64_t padding;
};

Convolution ReadConvolution(const Module& parent, const std::string& name) {
  const Module module = Child(parent, name);
  const Tensor* weight = module.TensorNamed("weight");
  if (weight == nullptr || weight->dim() != 3) {
    Refuse("whose " + name + " has no weight of 3 dimensions");
  }
  return {weight->size(2), parent.Get<int64_t>("lorder").value_or(0)};
}

bool IsCausal(const Convolution& convolution) {
  return convolution.padding == convolution.kernel_size - 1;
}

std::string GateName(const Module& activation) {
  const std::string name = ClassName(activation);
  if (name == "Identity") return "identity";
  if (name == "Tanh") return "tanh";
  return ActivationName(activation);
}

}  // namespace

std::string BranchformerName(const std::string& name) {
  for (const char* unused :
       {"pooling_proj1.", "pooling_proj2.", "weight_proj1.", "weight_proj2."}) {
    if (StartsWith(name, unused)) return "";
  }
  const std::string attention = "attn.";
  if (StartsWith(name, attention)) return "self_attn." + name.substr(attention.size());
  const std::string projection = "cgmlp.channel_proj1.";
  if (StartsWith(name, projection + "0.")) return projection + name.substr(projection.size() + 2);
  return name;
}

void CheckMerging(const Tensors& tensors) {
  const std::string name = "encoder.encoders.0.merge_proj.weight";
  // The other ways to merge two branches have a projection of d values, or none.
  if (tensors.count(name) == 0 || Size(tensors, name, 2, 1) != 2 * Size(tensors, name, 2, 0)) {
    Refuse("whose branches are not merged by concat, not supported");
  }
}

json ReadBranches(const Module& layer) {
  const Module cgmlp = Child(layer, "cgmlp");
  const Module gating = Child(cgmlp, "csgu");
  const Module projection = Child(cgmlp, "channel_proj1");
  if (ClassName(Child(projection, "1")) != "GELU") {
    Refuse("with the cgMLP activation " + ClassName(Child(projection, "1")) + ", expected GELU");
  }
  const Tensor* gates = Child(gating, "norm").TensorNamed("weight");
  if (gates == nullptr || gates->dim() != 1) Refuse("whose cgMLP has no norm of its gates");
  const Convolution filter = ReadConvolution(gating, "conv");
  const bool has_merge_convolution = HasModule(layer, "depthwise_conv_fusion");
  const Convolution merging =
      has_merge_convolution ? ReadConvolution(layer, "depthwise_conv_fusion") : Convolution{1, 0};
  // A kernel of one frame is both.
  const bool causal = IsCausal(filter) && IsCausal(merging);
  if (!causal && (filter.padding > 0 || merging.padding > 0)) {
    Refuse("whose branches are causal in one convolution only, not supported");
  }
  return {{"type", causal ? "causal" : "symmetric"},
          {"cgmlp_dim", 2 * gates->size(0)},
          {"cgmlp_kernel_size", filter.kernel_size},
          {"linear_after_convolution", HasModule(gating, "linear")},
          {"gate_activation", GateName(Child(gating, "act"))},
          {"merge_kernel_size", has_merge_convolution ? merging.kernel_size : 0}};
}

}  // namespace runnel::wenet
