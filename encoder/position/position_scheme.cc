#include "encoder/position/position_scheme.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <cmath>
#include <utility>

#include "encoder/json_section.h"

namespace runnel {

// Every scheme: its name in the model file and the function that parses its fields, which the
// scheme's own file defines.
#define RUNNEL_POSITION_SCHEMES(SCHEME)               \
  SCHEME("none", ParseNoPosition)                     \
  SCHEME("absolute", ParseAbsolutePosition)           \
  SCHEME("chunk_rpe", ParseChunkRpe)                  \
  SCHEME("bounded_rpe", ParseBoundedRpe)              \
  SCHEME("relative_key_value", ParseRelativeKeyValue) \
  SCHEME("unshifted", ParseUnshiftedPosition)         \
  SCHEME("legacy_rel_pos", ParseLegacyRelPos)

#define RUNNEL_DECLARE(name, parse) PositionConfig parse(JsonSection* section);
RUNNEL_POSITION_SCHEMES(RUNNEL_DECLARE)
#undef RUNNEL_DECLARE

namespace {

struct Registered {
  const char* name;
  PositionConfig (*parse)(JsonSection* section);
};

constexpr Registered kSchemes[] = {
#define RUNNEL_ENTRY(name, parse) {(name), &(parse)},
    RUNNEL_POSITION_SCHEMES(RUNNEL_ENTRY)
#undef RUNNEL_ENTRY
};

}  // namespace

PositionConfig ParsePosition(JsonSection* section) {
  const std::string name = section->String("scheme");
  std::string known;
  for (const Registered& scheme : kSchemes) {
    if (name == scheme.name) {
      PositionConfig config = scheme.parse(section);
      config.scheme = name;
      section->CheckAllTaken();
      return config;
    }
    known += (known.empty() ? "\"" : ", \"") + std::string(scheme.name) + "\"";
  }
  section->Fail("scheme", "one of " + known);
}

at::Tensor PositionScheme::Table(const AttentionChunk& /*chunk*/) const { return {}; }

at::Tensor PositionScheme::Scores(const AttentionChunk& chunk, const QueryBlock& block) const {
  const at::Tensor queries = chunk.queries.narrow(1, block.first, block.count);
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(2)));
  return at::matmul(queries, chunk.keys.transpose(1, 2)).mul_(scale);
}

at::Tensor PositionScheme::Context(const at::Tensor& weights, const at::Tensor& values,
                                   const AttentionChunk& /*chunk*/,
                                   const QueryBlock& /*block*/) const {
  return at::matmul(weights, values);
}

std::optional<ScoreTerms> PositionScheme::score_terms() const { return std::nullopt; }

std::optional<ScoreTerms> ContentOnly::score_terms() const {
  ScoreTerms terms;
  terms.score_scale = 1.0 / std::sqrt(static_cast<double>(sizes_.head_dim()));
  return terms;
}

void PositionScheme::AppendKeyPositions(int64_t /*first*/, int64_t /*end*/,
                                        FrameBuffer* /*buffer*/) const {}

PositionConfig::Builder ForEachLayer(
    std::function<std::shared_ptr<const PositionScheme>(
        Weights* weights, const std::string& attention_name, const AttentionSizes& sizes)>
        layer) {
  return
      [layer = std::move(layer)](Weights* weights, const std::vector<std::string>& attention_names,
                                 const AttentionSizes& sizes) {
        PositionModules modules;
        for (const std::string& name : attention_names) {
          modules.layers.push_back(layer(weights, name, sizes));
        }
        return modules;
      };
}

at::Tensor SplitHeads(const at::Tensor& rows, int64_t num_heads) {
  return rows.view({rows.size(0), num_heads, rows.size(1) / num_heads}).transpose(0, 1);
}

}  // namespace runnel
