#include "runtime/transducer/transducer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/model_file/weights.h"
#include "runtime/row_math/row_math.h"
#include "runtime/transducer/transducer_weights.h"

namespace runnel {
namespace {

size_t NumBytes(ConstRows rows) {
  return static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type));
}

void CopyRow(ConstRows from, Rows to) { std::memcpy(to.data, from.data, NumBytes(from)); }

std::unique_ptr<const LinearModule> MakeOptional(const std::optional<LinearWeights>& weights,
                                                 const EncoderBackend& backend) {
  return weights ? backend.MakeLinear(*weights) : nullptr;
}

// Without these layers the joint network adds its inputs as they are.
void CheckWidths(const TransducerConfig& config, int64_t model_dim) {
  const int64_t predictor_dim = OutputDim(config.predictor);
  const int64_t dim = config.joint.dim;
  if (config.joint.input_linear || (model_dim == dim && predictor_dim == dim)) return;
  throw std::runtime_error("transducer.joint.dim is " + std::to_string(dim) +
                           ", expected that of encoder frames (" + std::to_string(model_dim) +
                           ") and of the predictor's output (" + std::to_string(predictor_dim) +
                           "), because input_linear is false");
}

}  // namespace

Transducer::Transducer(const TransducerConfig& config, int64_t model_dim,
                       const EncoderBackend& backend, Weights* weights,
                       const std::vector<int32_t>& end_tokens)
    : config_(config),
      type_(backend.data_type()),
      is_end_(static_cast<size_t>(config.vocab_size), 0) {
  for (const int32_t token : end_tokens) is_end_.at(static_cast<size_t>(token)) = 1;
  CheckWidths(config, model_dim);
  predictor_ = MakePredictor(config, backend, weights);
  const JointWeights joint = BindJoint(config, model_dim, weights);
  encoder_linear_ = MakeOptional(joint.encoder, backend);
  predictor_linear_ = MakeOptional(joint.predictor, backend);
  hidden_linear_ = MakeOptional(joint.hidden, backend);
  out_ = backend.MakeLinear(joint.out);
  Matrix zeros(type_, predictor_->state_dim(), 1);
  std::memset(zeros.rows().data, 0, NumBytes(zeros.rows()));
  start_ = Advance({config.blank_id}, std::move(zeros)).front();
}

PredictorState Transducer::MakeState() const {
  return {Matrix(type_, predictor_->state_dim(), 1), Matrix(type_, config_.joint.dim, 1)};
}

std::vector<SharedPredictorState> Transducer::Advance(const std::vector<TokenStep>& steps) const {
  std::vector<int32_t> tokens;
  Matrix memories(type_, predictor_->state_dim(), static_cast<int64_t>(steps.size()));
  for (size_t i = 0; i < steps.size(); ++i) {
    tokens.push_back(steps[i].token);
    CopyRow(steps[i].from->memory.rows(), memories.rows().Part(static_cast<int64_t>(i), 1));
  }
  std::vector<SharedPredictorState> states = Advance(tokens, std::move(memories));
  for (size_t i = 0; i < steps.size(); ++i) {
    if (IsEnd(steps[i].token)) states[i] = start_;
  }
  return states;
}

std::vector<SharedPredictorState> Transducer::Advance(const std::vector<int32_t>& tokens,
                                                      Matrix memories) const {
  if (tokens.empty()) return {};
  Matrix outputs(type_, predictor_->output_dim(), memories.count());
  predictor_->Step(tokens, memories.rows(), outputs.rows());
  if (predictor_linear_ != nullptr) {
    Matrix inputs(type_, config_.joint.dim, memories.count());
    predictor_linear_->Forward(std::as_const(outputs).rows(), inputs.rows());
    outputs = std::move(inputs);
  }
  std::vector<SharedPredictorState> states;
  for (int64_t i = 0; i < memories.count(); ++i) {
    states.push_back(std::make_shared<const PredictorState>(
        PredictorState{Matrix(std::as_const(memories).rows().Part(i, 1)),
                       Matrix(std::as_const(outputs).rows().Part(i, 1))}));
  }
  return states;
}

Matrix Transducer::ProjectEncoder(ConstRows encoder_rows) const {
  if (encoder_linear_ == nullptr) return Matrix(encoder_rows);
  Matrix projected(type_, config_.joint.dim, encoder_rows.count);
  encoder_linear_->Forward(encoder_rows, projected.rows());
  return projected;
}

Matrix Transducer::LogProbs(const std::vector<JointQuery>& queries) const {
  Matrix hidden(type_, config_.joint.dim, static_cast<int64_t>(queries.size()));
  for (size_t i = 0; i < queries.size(); ++i) {
    const Rows row = hidden.rows().Part(static_cast<int64_t>(i), 1);
    CopyRow(queries[i].encoder, row);
    AddTo(queries[i].predictor->input.rows(), row);
  }
  if (hidden_linear_ != nullptr) {
    Activate(config_.joint.hidden->input_activation, hidden.rows());
    Matrix output(type_, config_.joint.hidden->dim, hidden.count());
    hidden_linear_->Forward(std::as_const(hidden).rows(), output.rows());
    hidden = std::move(output);
  }
  Activate(config_.joint.activation, hidden.rows());
  Matrix log_probs(type_, config_.num_outputs(), hidden.count());
  out_->Forward(std::as_const(hidden).rows(), log_probs.rows());
  LogSoftmaxColumns(0, config_.vocab_size, log_probs.rows());
  LogSoftmaxColumns(config_.vocab_size, static_cast<int64_t>(config_.durations.size()),
                    log_probs.rows());
  return log_probs;
}

}  // namespace runnel
