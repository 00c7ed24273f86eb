// Relative in name only: each key is scored by its absolute frame, without a shift ("rel_pos" of
// WeNet since v0.1). WeNet's table ends at frame 5000; here the 64-bit frame number has no limit.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <memory>

#include "encoder/position/position_scheme.h"
#include "encoder/position/relative_query.h"
#include "encoder/position/sinusoids.h"

namespace runnel {
namespace {

// Frames that are projected together. A product's rounding may depend on the number of its rows, so
// a stream's frames are projected in blocks of fixed size and place however the stream is cut.
constexpr int64_t kBlockSize = 16;

// score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(frame of key j)) / sqrt(d_k)
class Unshifted final : public PositionScheme {
 public:
  Unshifted(Weights* weights, const std::string& name, const AttentionSizes& sizes,
            const RelativeQueryFields& fields)
      : query_(weights, name, sizes, fields),
        linear_pos_(TakeLinearPos(weights, name, sizes, fields)),
        sinusoids_(sizes.model_dim) {}

  // Unlike a distance, a frame is one stream's own: its projected row is computed once and then
  // lives as long as its key.
  void AppendKeyPositions(int64_t first, int64_t end, FrameBuffer* buffer) const override {
    while (first < end) {
      const int64_t place = ((first % kBlockSize) + kBlockSize) % kBlockSize;  // in its block
      const int64_t start = first - place;
      const at::Tensor sinusoids = sinusoids_.Rows(start, start + kBlockSize - 1);
      const at::Tensor rows = linear_pos_.Forward(sinusoids.to(linear_pos_.options()));
      buffer->Append(rows.narrow(0, place, kBlockSize - place));
      first = start + kBlockSize;
    }
  }

  at::Tensor Scores(const AttentionChunk& chunk, const QueryBlock& block) const override {
    const at::Tensor q = chunk.queries.narrow(1, block.first, block.count);
    at::Tensor scores = at::matmul(query_.ForContent(q), chunk.keys.transpose(1, 2));
    scores.add_(at::matmul(query_.ForPosition(q), chunk.key_positions.transpose(1, 2)));
    return query_.Scaled(scores);
  }

  std::optional<ScoreTerms> score_terms() const override { return query_.terms(); }

 private:
  RelativeQuery query_;
  Linear linear_pos_;
  Sinusoids sinusoids_;
};

}  // namespace

PositionConfig ParseUnshiftedPosition(JsonSection* section) {
  const RelativeQueryFields fields = ParseRelativeQueryFields(section);
  PositionConfig config;
  config.build = ForEachLayer(
      [fields](Weights* weights, const std::string& name, const AttentionSizes& sizes) {
        return std::make_shared<const Unshifted>(weights, name, sizes, fields);
      });
  return config;
}

}  // namespace runnel
