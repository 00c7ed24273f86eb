// Where the modules of a model get their packed matrices, while the model loads.
#ifndef RUNNEL_ENCODER_CPU_PACKER_H_
#define RUNNEL_ENCODER_CPU_PACKER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"

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

// Packs the weights.
class WeightPacker final : public Packer {
 public:
  kernels::PackedLinear Pack(const LinearWeights& weights, const LinearForm& form) override;
};

// A packed matrix and LinearWeights::name of its layer.
struct NamedMatrix {
  std::string name;
  kernels::StoredMatrix matrix;
};

// Packs the weights and lists the matrices, for a file that holds them.
class RecordingPacker final : public Packer {
 public:
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

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_PACKER_H_
