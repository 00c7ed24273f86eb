// ESPnet's `legacy_rel_pos`: a table of T reversed rows and a shift that is right for keys up to
// the query only. Of the key after the query it reads zero, of later ones what belongs to the next
// query. Models were trained with it, so it is kept as it is; for whole utterances only.
#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>

#include "encoder/json_section.h"
#include "encoder/position/position_scheme.h"
#include "encoder/position/relative_query.h"
#include "encoder/position/sinusoids.h"

namespace runnel {
namespace {

constexpr int64_t kMaxTableLength = 1 << 20;

struct LegacyRelPosFields {
  RelativeQueryFields query;
  int64_t table_length = 0;
};

class LegacyRelPos final : public PositionScheme {
 public:
  LegacyRelPos(Weights* weights, const std::string& name, const AttentionSizes& sizes,
               const LegacyRelPosFields& fields)
      : num_heads_(sizes.num_heads),
        table_length_(fields.table_length),
        query_(weights, name, sizes, fields.query),
        linear_pos_(TakeLinearPos(weights, name, sizes, fields.query)),
        sinusoids_(sizes.model_dim) {}

  // (H, T, d_k): the first T rows of a table that counts down to 0 in table_length rows, or in T.
  at::Tensor Table(const AttentionChunk& chunk) const override {
    const int64_t num_frames = chunk.num_keys();
    TORCH_INTERNAL_ASSERT(num_frames == chunk.num_queries(), "legacy_rel_pos in a chunk");
    const int64_t first = std::max(table_length_, num_frames) - 1;
    const at::Tensor sinusoids = sinusoids_.Rows(first, first - num_frames + 1);
    return SplitHeads(linear_pos_.Forward(sinusoids.to(linear_pos_.options())), num_heads_);
  }

  // B = (q + v) table^T (T, T) gets a column of zeros on the left, is read as (T + 1, T), and its
  // first row is dropped. So entry (i, j) stands T - i + j places after the start of row i of the
  // padded B, be it in that row or in the next one.
  at::Tensor Scores(const AttentionChunk& chunk, const QueryBlock& block) const override {
    const int64_t num_frames = chunk.num_queries();
    const at::Tensor q = chunk.queries.narrow(1, block.first, block.count);
    at::Tensor scores = at::matmul(query_.ForContent(q), chunk.keys.transpose(1, 2));
    const int64_t rows = std::min(block.count + 1, num_frames - block.first);
    const at::Tensor b = at::matmul(query_.ForPosition(chunk.queries.narrow(1, block.first, rows)),
                                    chunk.table.transpose(1, 2));
    const at::Tensor padded = at::constant_pad_nd(b, {1, 0}).contiguous();  // (H, rows, T + 1)
    scores.add_(padded.as_strided({num_heads_, block.count, num_frames},
                                  {rows * (num_frames + 1), num_frames, 1},
                                  padded.storage_offset() + num_frames - block.first));
    return query_.Scaled(scores);
  }

 private:
  int64_t num_heads_;
  int64_t table_length_;
  RelativeQuery query_;
  Linear linear_pos_;
  Sinusoids sinusoids_;
};

}  // namespace

PositionConfig ParseLegacyRelPos(JsonSection* section) {
  LegacyRelPosFields fields;
  fields.query = ParseRelativeQueryFields(section);
  fields.table_length = section->Integer("table_length", 1, kMaxTableLength);
  PositionConfig config;
  config.needs_whole_utterance = true;
  config.build = ForEachLayer(
      [fields](Weights* weights, const std::string& name, const AttentionSizes& sizes) {
        return std::make_shared<const LegacyRelPos>(weights, name, sizes, fields);
      });
  return config;
}

}  // namespace runnel
