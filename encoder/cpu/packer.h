// Where the modules of a model get their packed matrices, while the model loads.
#ifndef RUNNEL_ENCODER_CPU_PACKER_H_
#define RUNNEL_ENCODER_CPU_PACKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul/error_feedback.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/model_file/tensor.h"

namespace runnel {
struct LinearWeights;  // encoder_weights.h
}

namespace runnel::cpu {

// How a module multiplies with a layer's weights.
struct LinearForm {
  kernels::MatmulType type;
  kernels::MatmulOutput output;
  std::optional<Activation> activation = std::nullopt;
  double scale = 1.0;  // of weight and bias
  // Of a layer whose columns are (channels, n): the rows that it multiplies have their channels
  // innermost, (n, channels). 1: as they are.
  int64_t channels = 1;
};

// Used from one thread. No module keeps it.
class Packer {
 public:
  virtual ~Packer() = default;

  // Called once for each layer of the model. Throws std::runtime_error, one line.
  virtual kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) = 0;

  // Throws std::runtime_error if it has matrices that no module asked for.
  virtual void CheckAllTaken() const {}
};

// Moments of the rows of matmuls, by LinearWeights::name.
using Moments = std::map<std::string, kernels::InputMoments>;

// How the weights of some int8 matmuls get four bits.
struct FourBits {
  std::function<bool(const std::string& name)> has_four_bits;  // LinearWeights::name
  Moments moments;  // of a matmul that is not here, each weight is rounded by itself
};

// Packs the weights.
class WeightPacker final : public Packer {
 public:
  // four_bits: null, or it must outlive the packer.
  explicit WeightPacker(const FourBits* four_bits = nullptr) : four_bits_(four_bits) {}
  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;

 private:
  const FourBits* four_bits_;
};

// Packs the weights in float32 and sums the moments of what the model multiplies with them.
class ObservingPacker final : public Packer {
 public:
  // Sums the moments of those that shall have four bits. `four_bits` must outlive the model.
  explicit ObservingPacker(FourBits* four_bits) : four_bits_(four_bits) {}
  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;

 private:
  FourBits* four_bits_;
};

// A packed matrix and LinearWeights::name of its layer.
struct NamedMatrix {
  std::string name;
  kernels::StoredMatrix matrix;
};

// Packs the weights and lists the matrices, for a file that holds them.
class RecordingPacker final : public Packer {
 public:
  // four_bits: as in WeightPacker.
  explicit RecordingPacker(const FourBits* four_bits = nullptr) : packer_(four_bits) {}
  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;

  // In the order in which the modules packed them. They refer to memory of the modules.
  const std::vector<NamedMatrix>& matrices() const { return matrices_; }

 private:
  WeightPacker packer_;
  std::vector<NamedMatrix> matrices_;
};

// Finds the matrices of a file that holds them, by name. The values of the weights are not read.
class StoredMatrices final : public Packer {
 public:
  // `source` is the file, for messages. Throws std::runtime_error for two matrices of one name.
  StoredMatrices(const std::vector<NamedMatrix>& matrices, std::string source);

  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;
  void CheckAllTaken() const override;

 private:
  [[noreturn]] void Fail(const std::string& name, const std::string& problem) const;

  std::map<std::string, kernels::StoredMatrix> matrices_;  // those that are not taken yet
  std::string source_;
};

// Finds the matrices of a file and gives their values back to the tensors that were packed, for a
// backend that has no packed matrices.
class UnpackingPacker final : public Packer {
 public:
  // `tensors`: of the file; those that are in the matrices have no values, and get them. Throws as
  // StoredMatrices does.
  UnpackingPacker(const std::vector<NamedMatrix>& matrices, std::string source,
                  std::map<std::string, Tensor>* tensors);

  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;
  void CheckAllTaken() const override { matrices_.CheckAllTaken(); }

 private:
  StoredMatrices matrices_;
  std::map<std::string, Tensor>* tensors_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_PACKER_H_
