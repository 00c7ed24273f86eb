#include "runtime/transducer/predictor.h"

#include <cstring>
#include <utility>

#include "encoder/model_file/weights.h"
#include "runtime/row_math/embedding.h"
#include "runtime/row_math/row_math.h"
#include "runtime/transducer/transducer_weights.h"

namespace runnel {
namespace {

void CopyValues(ConstRows from, Rows to) {
  std::memcpy(to.data, from.data, static_cast<size_t>(from.count * from.dim * BytesOf(from.type)));
}

// State: for each layer hidden, then cell.
class LstmPredictor final : public Predictor {
 public:
  LstmPredictor(const LstmPredictorWeights& weights, const LstmPredictorConfig& config,
                const EncoderBackend& backend)
      : type_(backend.data_type()), config_(config), embedding_(weights.embedding) {
    for (const LinearWeights& layer : weights.layers) layers_.push_back(backend.MakeLinear(layer));
    if (weights.out) out_ = backend.MakeLinear(*weights.out);
  }

  int64_t state_dim() const override { return 2 * config_.num_layers * config_.hidden_dim; }
  int64_t output_dim() const override { return config_.output_dim.value_or(config_.hidden_dim); }

  void Step(const std::vector<int32_t>& tokens, Rows states, Rows outputs) const override {
    const auto count = static_cast<int64_t>(tokens.size());
    const int64_t hidden_dim = config_.hidden_dim;
    Matrix below(type_, embedding_.dim(), count);
    for (int64_t r = 0; r < count; ++r) {
      embedding_.Copy(tokens[static_cast<size_t>(r)], below.rows().Part(r, 1).data);
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto layer = static_cast<int64_t>(i);
      // Gathers [input, hidden] and the cells, which are parts of the rows of `states`.
      Matrix input(type_, below.dim() + hidden_dim, count);
      Matrix cell(type_, hidden_dim, count);
      for (int64_t r = 0; r < count; ++r) {
        const Rows row = input.rows().Part(r, 1);
        CopyValues(std::as_const(below).rows().Part(r, 1), row);
        CopyValues(Columns(states, r, 2 * layer), Shifted(row, below.dim()));
        CopyValues(Columns(states, r, 2 * layer + 1), cell.rows().Part(r, 1));
      }
      Matrix gates(type_, 4 * hidden_dim, count);
      layers_[i]->Forward(std::as_const(input).rows(), gates.rows());
      Matrix hidden(type_, hidden_dim, count);
      AdvanceLstm(std::as_const(gates).rows(), cell.rows(), hidden.rows());
      for (int64_t r = 0; r < count; ++r) {
        CopyValues(std::as_const(hidden).rows().Part(r, 1), Columns(states, r, 2 * layer));
        CopyValues(std::as_const(cell).rows().Part(r, 1), Columns(states, r, 2 * layer + 1));
      }
      below = std::move(hidden);
    }
    if (out_ != nullptr) {
      out_->Forward(std::as_const(below).rows(), outputs);
    } else {
      CopyValues(std::as_const(below).rows(), outputs);
    }
  }

 private:
  // The values from `offset` on.
  static Rows Shifted(Rows row, int64_t offset) {
    return {row.type, static_cast<std::byte*>(row.data) + offset * BytesOf(row.type), 1,
            row.dim - offset};
  }
  // The block-th group of hidden_dim values of row r.
  Rows Columns(Rows states, int64_t r, int64_t block) const {
    Rows part = Shifted(states.Part(r, 1), block * config_.hidden_dim);
    part.dim = config_.hidden_dim;
    return part;
  }

  DataType type_;
  LstmPredictorConfig config_;
  Embedding embedding_;
  std::vector<std::unique_ptr<const LinearModule>> layers_;
  std::unique_ptr<const LinearModule> out_;  // null: the output is the hidden state
};

// State: the embeddings of the tokens before the last one, oldest first.
class Context {
 public:
  Context(const Tensor& embedding, int64_t context_size)
      : embedding_(embedding), context_size_(context_size) {}

  int64_t state_dim() const { return (context_size_ - 1) * embedding_.dim(); }

  // Advances the states. Returns the embeddings of the last context_size tokens, oldest first:
  // (tokens, context_size * dim).
  Matrix Advance(const std::vector<int32_t>& tokens, Rows states) const {
    const auto count = static_cast<int64_t>(tokens.size());
    Matrix context(states.type, context_size_ * embedding_.dim(), count);
    const auto kept = static_cast<size_t>(state_dim() * BytesOf(states.type));
    for (int64_t r = 0; r < count; ++r) {
      auto* row = static_cast<std::byte*>(context.rows().Part(r, 1).data);
      void* state = states.Part(r, 1).data;
      std::memcpy(row, state, kept);
      embedding_.Copy(tokens[static_cast<size_t>(r)], row + kept);
      std::memcpy(state, row + embedding_.num_bytes(), kept);
    }
    return context;
  }

  int64_t dim() const { return embedding_.dim(); }

 private:
  Embedding embedding_;
  int64_t context_size_;
};

class ConvPredictor final : public Predictor {
 public:
  ConvPredictor(const ConvPredictorWeights& weights, const ConvPredictorConfig& config,
                const EncoderBackend& backend)
      : activation_(config.activation),
        context_(weights.embedding, config.context_size),
        convolution_(backend.MakeLinear(weights.convolution)) {
    if (weights.norm) norm_ = backend.MakeNorm(*weights.norm);
  }

  int64_t state_dim() const override { return context_.state_dim(); }
  int64_t output_dim() const override { return context_.dim(); }

  void Step(const std::vector<int32_t>& tokens, Rows states, Rows outputs) const override {
    const Matrix context = context_.Advance(tokens, states);
    convolution_->Forward(context.rows(), outputs);
    if (norm_ != nullptr) norm_->Normalize(outputs);
    Activate(activation_, outputs);
  }

 private:
  Activation activation_;
  Context context_;
  std::unique_ptr<const LinearModule> convolution_;
  std::unique_ptr<const NormModule> norm_;  // null: none
};

// For each row sum over heads and tokens of (position . token) token, over heads * tokens.
template <class T>
void WeightTokens(const T* context, const T* position, const EmbeddingPredictorConfig& config,
                  T* sum) {
  const int64_t dim = config.embedding_dim;
  std::fill(sum, sum + dim, T{0});
  for (int64_t head = 0; head < config.num_heads; ++head) {
    for (int64_t k = 0; k < config.context_size; ++k, position += dim) {
      const T* token = context + k * dim;
      T weight = 0;
      for (int64_t i = 0; i < dim; ++i) weight += token[i] * position[i];
      for (int64_t i = 0; i < dim; ++i) sum[i] += weight * token[i];
    }
  }
  const auto divisor = static_cast<T>(config.num_heads * config.context_size);
  for (int64_t i = 0; i < dim; ++i) sum[i] /= divisor;
}

class EmbeddingPredictor final : public Predictor {
 public:
  EmbeddingPredictor(const EmbeddingPredictorWeights& weights,
                     const EmbeddingPredictorConfig& config, const EncoderBackend& backend)
      : config_(config),
        context_(weights.embedding, config.context_size),
        position_(weights.position),
        linear_(backend.MakeLinear(weights.linear)),
        norm_(backend.MakeNorm(weights.norm)) {}

  int64_t state_dim() const override { return context_.state_dim(); }
  int64_t output_dim() const override { return context_.dim(); }

  void Step(const std::vector<int32_t>& tokens, Rows states, Rows outputs) const override {
    const Matrix context = context_.Advance(tokens, states);
    Matrix sums(states.type, context_.dim(), context.count());
    for (int64_t r = 0; r < context.count(); ++r) {
      if (states.type == DataType::kFloat64) {
        WeightTokens(context.rows().float64(r), position_.float64(), config_,
                     sums.rows().float64(r));
      } else {
        WeightTokens(context.rows().float32(r), position_.float32(), config_,
                     sums.rows().float32(r));
      }
    }
    linear_->Forward(std::as_const(sums).rows(), outputs);
    norm_->Normalize(outputs);
    Activate(config_.activation, outputs);
  }

 private:
  EmbeddingPredictorConfig config_;
  Context context_;
  Tensor position_;
  std::unique_ptr<const LinearModule> linear_;
  std::unique_ptr<const NormModule> norm_;
};

}  // namespace

std::unique_ptr<const Predictor> MakePredictor(const TransducerConfig& config,
                                               const EncoderBackend& backend, Weights* weights) {
  if (const auto* lstm = std::get_if<LstmPredictorConfig>(&config.predictor)) {
    return std::make_unique<LstmPredictor>(BindPredictor(*lstm, config.vocab_size, weights), *lstm,
                                           backend);
  }
  if (const auto* conv = std::get_if<ConvPredictorConfig>(&config.predictor)) {
    return std::make_unique<ConvPredictor>(BindPredictor(*conv, config.vocab_size, weights), *conv,
                                           backend);
  }
  const auto& embedding = std::get<EmbeddingPredictorConfig>(config.predictor);
  return std::make_unique<EmbeddingPredictor>(BindPredictor(embedding, config.vocab_size, weights),
                                              embedding, backend);
}

}  // namespace runnel
