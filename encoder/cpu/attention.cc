#include "encoder/cpu/attention.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "encoder/cpu/cached_rows.h"
#include "encoder/cpu/kernels/attention/position_kernels.h"
#include "encoder/strides.h"

namespace runnel::cpu {
namespace {

static_assert(PositionTable::kColumnPadding >= kernels::kColumnPadding);

const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

// Queries of a window that moves with the query, computed together: about as many as the window has
// keys, so that a key is transposed about twice.
int64_t QueriesTogether(const AttentionWindow& window, int64_t num_rows) {
  constexpr int64_t kLeast = 64;
  if (window.left < 0 || window.right < 0) return num_rows;
  return std::max(kLeast, window.left + 1 + window.right);
}

// The distances within a window, of these.
Distances InWindow(const AttentionWindow& window, Distances distances) {
  if (window.left >= 0) distances.first = std::min(distances.first, window.left);
  if (window.right >= 0) distances.last = std::max(distances.last, -window.right);
  return distances;
}

// Values of a row of learned_columns_.
int64_t LearnedStride(const LearnedRows& learned) {
  return learned.distances.size() + kernels::kColumnPadding;
}

// (n, d_k) to (d_k, LearnedStride).
std::vector<float> Columns(const LearnedRows& learned) {
  const std::vector<float> rows = Float32Values(learned.keys);
  const int64_t num_rows = learned.distances.size();
  const int64_t dim = learned.keys.size(1);
  const int64_t stride = LearnedStride(learned);
  std::vector<float> columns(static_cast<size_t>(dim * stride));
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t k = 0; k < dim; ++k) {
      // Row 0 belongs to the longest distance to the past, as column 0 does.
      columns[static_cast<size_t>(k * stride + r)] = rows[static_cast<size_t>(r * dim + k)];
    }
  }
  return columns;
}

int64_t NumRows(const std::vector<Segment>& segments) {
  return segments.back().first_row + segments.back().num_rows();
}

// Joins the rows of each group, (frames, parts * dim), to one, (groups, parts * group_size * dim),
// part by part. Frames that a group lacks are zeros.
void Group(const std::vector<Segment>& segments, const std::vector<Segment>& groups,
           int64_t group_size, int64_t parts, int64_t dim, const float* rows, float* joined) {
  for (size_t s = 0; s < segments.size(); ++s) {
    const int64_t num_rows = segments[s].num_rows();
    const float* from = rows + segments[s].first_row * parts * dim;
    float* to = joined + groups[s].first_row * parts * group_size * dim;
    for (int64_t group = 0; group < groups[s].num_rows(); ++group) {
      for (int64_t part = 0; part < parts; ++part) {
        for (int64_t i = 0; i < group_size; ++i, to += dim) {
          const int64_t row = group * group_size + i;
          if (row >= num_rows) {
            std::fill(to, to + dim, 0.0F);
            continue;
          }
          const float* const frame = from + (row * parts + part) * dim;
          std::copy(frame, frame + dim, to);
        }
      }
    }
  }
}

// The frames of all groups, one after the other: drops those that a group lacks.
void Ungroup(const std::vector<Segment>& segments, const std::vector<Segment>& groups, int64_t dim,
             int64_t row_dim, float* rows) {
  for (size_t s = 0; s < segments.size(); ++s) {
    const float* const from = rows + groups[s].first_row * row_dim;
    float* const to = rows + segments[s].first_row * dim;
    if (to != from) std::copy(from, from + segments[s].num_rows() * dim, to);
  }
}

}  // namespace

Attention::Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
                     const EncoderConfig& config, const PositionScheme& position,
                     const Options& options, Packer* packer,
                     std::shared_ptr<const FrameSinusoids> sinusoids)
    : options_(options),
      model_dim_(config.model_dim),
      group_size_(position.group_size),
      row_dim_(group_size_ * model_dim_),
      norm_(LayerNorm::If(norm)),
      qkv_(packer->Pack(Stacked({weights.query, weights.key, weights.value}),
                        {options.matmul_type, kernels::MatmulOutput::kStore})),
      out_(packer->Pack(weights.out, {options.matmul_type, kernels::MatmulOutput::kAdd})),
      position_(position),
      content_bias_(Float32Values(position.content_bias)),
      position_bias_(Float32Values(position.position_bias)) {
  heads_.num_heads = config.num_heads;
  heads_.head_dim = config.head_dim() * group_size_;
  heads_.query_scale = static_cast<float>(position.query_scale);
  heads_.score_scale = static_cast<float>(position.score_scale);
  if (position.rotation) {
    rotation_ = std::move(sinusoids);
  } else if (const auto* frames = std::get_if<RowsByKeyFrame>(&position_.rows)) {
    frame_positions_.emplace(std::move(sinusoids), frames->linear_pos, options.matmul_type);
  } else if (const auto* learned = std::get_if<LearnedRows>(&position_.rows)) {
    learned_columns_ = Columns(*learned);
    learned_values_ = Float32Values(learned->values);
  }
}

void Attention::Initialize(LayerState* state) const {
  if (frame_positions_) state->key_biases.emplace(heads_.num_heads, DataType::kFloat32);
  const DataType type = options_.bfloat16_cache ? DataType::kBfloat16 : DataType::kFloat32;
  state->keys = RowRing(row_dim_, type);
  state->values = RowRing(row_dim_, type);
}

void Attention::Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const {
  kernels::Scratch scratch;
  const std::vector<Segment> joined =
      group_size_ == 1 ? std::vector<Segment>() : Strided(segments, group_size_);
  const std::vector<Segment>& groups = group_size_ == 1 ? segments : joined;
  const Projected projected = Project(segments, groups, x, &scratch);
  auto* context = scratch.Take<float>(NumRows(groups) * row_dim_);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Segment& segment = groups[i];
    const Projected rows = From(projected, segment.first_row);
    AttendSegment(segment, rows, i + 1 < groups.size() ? &groups[i + 1] : nullptr,
                  context + segment.first_row * row_dim_);
    // The last keys of a limited context are kept after the end too, for tools that inspect a
    // state. Unlimited ones would be copied for nothing.
    if (!(segment.ends() && segment.left_context < 0)) Store(segment, rows);
  }
  if (group_size_ > 1) Ungroup(segments, groups, model_dim_, row_dim_, context);
  const kernels::MatmulInput input =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, model_dim_);
  kernels::StoreRows(context, x.count, input);
  out_.Forward(input, x.count, y.float32());
}

Attention::Projected Attention::Project(const std::vector<Segment>& segments,
                                        const std::vector<Segment>& groups, ConstRows x,
                                        kernels::Scratch* scratch) const {
  const int64_t num_rows = NumRows(groups);
  const int64_t width = 3 * row_dim_;
  Projected projected{scratch->Take<float>(num_rows * width), nullptr};
  if (frame_positions_) projected.key_biases = scratch->Take<float>(num_rows * heads_.num_heads);
  kernels::Scratch pieces;
  float* qkv = projected.queries_keys_values;
  float* const frames = group_size_ == 1 ? qkv : pieces.Take<float>(x.count * 3 * model_dim_);
  qkv_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &pieces), x.count, frames);
  if (group_size_ > 1) Group(segments, groups, group_size_, 3, model_dim_, frames, qkv);
  if (frame_positions_) {
    const float* positions = frame_positions_->Rows(segments, x.count, &pieces);
    if (group_size_ > 1) {
      auto* joined = pieces.Take<float>(num_rows * row_dim_);
      Group(segments, groups, group_size_, 1, model_dim_, positions, joined);
      positions = joined;
    }
    kernels::FoldPositions(
        {DataOrNull(content_bias_), DataOrNull(position_bias_), heads_.num_heads, heads_.head_dim},
        positions, num_rows, qkv + row_dim_, width, projected.key_biases);
  }
  if (rotation_) Rotate(segments, qkv);
  if (options_.bfloat16_cache) {
    auto* rounded = pieces.Take<uint16_t>(2 * row_dim_);
    for (int64_t i = 0; i < num_rows; ++i) {
      float* keys_values = qkv + i * width + row_dim_;
      kernels::RoundToBfloat16(keys_values, 2 * row_dim_, rounded);
      kernels::WidenBfloat16(rounded, 2 * row_dim_, keys_values);
    }
  }
  return projected;
}

void Attention::Rotate(const std::vector<Segment>& segments, float* queries_keys_values) const {
  const int64_t dim = rotation_->dim();
  kernels::Scratch scratch;
  for (const Segment& segment : segments) {
    const int64_t num_rows = segment.num_rows();
    auto* sinusoids = scratch.Take<float>(num_rows * dim);
    rotation_->Fill(segment.frames, segment.frame_step, sinusoids);
    for (int64_t i = 0; i < num_rows; ++i) {  // a row begins with its queries and keys
      kernels::RotateHeads(sinusoids + i * dim, 2 * heads_.num_heads, heads_.head_dim,
                           queries_keys_values + (segment.first_row + i) * 3 * model_dim_);
    }
  }
}

Attention::Projected Attention::From(const Projected& projected, int64_t row) const {
  return {
      projected.queries_keys_values + row * 3 * row_dim_,
      projected.key_biases == nullptr ? nullptr : projected.key_biases + row * heads_.num_heads};
}

Attention::Keys Attention::CollectKeys(const Segment& segment, const Projected& projected,
                                       kernels::Scratch* scratch) const {
  const LayerState& state = *segment.state;
  const int64_t num_rows = segment.num_rows();
  const int64_t cached = state.keys.size();
  Keys keys{cached + num_rows, cached, nullptr, nullptr, nullptr};
  keys.keys = scratch->Take<const float*>(keys.count);
  keys.values = scratch->Take<const float*>(keys.count);
  CollectRows(state.keys, scratch, keys.keys);
  CollectRows(state.values, scratch, keys.values);
  for (int64_t i = 0; i < num_rows; ++i) {
    keys.keys[cached + i] = projected.queries_keys_values + (3 * i + 1) * row_dim_;
    keys.values[cached + i] = projected.queries_keys_values + (3 * i + 2) * row_dim_;
  }
  if (state.key_biases) {
    keys.biases = scratch->Take<const float*>(keys.count);
    CollectRows(*state.key_biases, scratch, keys.biases);
    for (int64_t i = 0; i < num_rows; ++i) {
      keys.biases[cached + i] = projected.key_biases + i * heads_.num_heads;
    }
  }
  return keys;
}

void Attention::AttendSegment(const Segment& segment, const Projected& projected,
                              const Segment* next, float* context) const {
  kernels::Scratch scratch;
  const int64_t num_rows = segment.num_rows();
  const Keys keys = CollectKeys(segment, projected, &scratch);
  const std::optional<AttentionWindow>& window = position_.window;
  const int64_t chunk_size = window ? QueriesTogether(*window, num_rows) : segment.chunk_size;
  const int64_t left = window ? window->left : segment.left_context;
  for (int64_t first = 0; first < num_rows; first += chunk_size) {
    Chunk chunk{first, std::min(chunk_size, num_rows - first), 0, 0};
    chunk.end_key = keys.num_cached + first + chunk.count;
    if (window) {
      chunk.end_key =
          window->right < 0 ? keys.count : std::min(keys.count, chunk.end_key + window->right);
    }
    if (left >= 0) chunk.first_key = std::max<int64_t>(0, keys.num_cached + first - left);
    kernels::AttentionRows rows;
    rows.queries = projected.queries_keys_values + first * 3 * row_dim_;
    rows.query_stride = 3 * row_dim_;
    rows.context = context + first * row_dim_;
    if (next != nullptr && first + chunk.count == num_rows &&
        next->state->keys.type() == DataType::kFloat32) {
      rows.num_next_keys = next->state->keys.size();
      auto* next_keys = scratch.Take<const float*>(rows.num_next_keys);
      auto* next_values = scratch.Take<const float*>(rows.num_next_keys);
      CollectRows(next->state->keys, &scratch, next_keys);
      CollectRows(next->state->values, &scratch, next_values);
      rows.next_keys = next_keys;
      rows.next_values = next_values;
    }
    Attend(keys, chunk, &rows);
  }
}

void Attention::Attend(const Keys& keys, const Chunk& chunk, kernels::AttentionRows* rows) const {
  kernels::AttentionHeads heads = heads_;
  if (!frame_positions_) {  // whose biases are part of the key biases
    heads.content_bias = DataOrNull(content_bias_);
    heads.position_bias = DataOrNull(position_bias_);
  }
  rows->num_queries = chunk.count;
  if (position_.window) rows->window = {position_.window->left, position_.window->right};
  rows->keys = keys.keys + chunk.first_key;
  rows->values = keys.values + chunk.first_key;
  if (keys.biases != nullptr) rows->key_biases = keys.biases + chunk.first_key;
  rows->num_keys = chunk.end_key - chunk.first_key;
  rows->first_query = keys.num_cached + chunk.first - chunk.first_key;
  std::shared_ptr<const PositionTable::Range> range;
  kernels::DistanceTable& table = rows->by_distance;
  if (const auto* by_distance = std::get_if<RowsByDistance>(&position_.rows)) {
    Distances read = DistancesBetween(rows->first_query, chunk.count, rows->num_keys);
    if (position_.window) read = InWindow(*position_.window, read);
    range = by_distance->table->Covering(read);
    read = read.ClampedTo(range->distances);
    const Matrix& columns = range->columns[by_distance->layer];
    table.columns = columns.rows().float32() + (range->distances.first - read.first);
    table.stride = columns.dim();
    table.num_distances = read.size();
    table.first = read.first;
    table.head_rows = heads_.head_dim;
  } else if (const auto* learned = std::get_if<LearnedRows>(&position_.rows)) {
    table.columns = learned_columns_.data();
    table.stride = LearnedStride(*learned);
    table.num_distances = learned->distances.size();
    table.first = learned->distances.first;
    if (!learned_values_.empty()) {
      rows->values_by_distance = {learned_values_.data(), table.num_distances, table.first};
    }
  } else if (const auto* legacy = std::get_if<LegacyRows>(&position_.rows)) {
    range = legacy->Covering(rows->num_keys);
    const int64_t skipped = range->distances.first - legacy->FirstDistance(rows->num_keys);
    const Matrix& columns = range->columns[legacy->layer];
    table.columns = columns.rows().float32() + skipped;
    table.stride = columns.dim();
    table.num_distances = rows->num_keys;
    table.head_rows = heads_.head_dim;
    table.shift = kernels::Shift::kLegacy;
  }
  kernels::Attend(*rows, heads);
}

void Attention::Store(const Segment& segment, const Projected& projected) const {
  LayerState& state = *segment.state;
  const int64_t stride = 3 * row_dim_;
  const int64_t num_rows = segment.num_kept();
  const float* qkv = projected.queries_keys_values;
  AppendRows(qkv + row_dim_, stride, num_rows, segment.left_context, &state.keys);
  AppendRows(qkv + 2 * row_dim_, stride, num_rows, segment.left_context, &state.values);
  if (state.key_biases) {
    state.key_biases->Append(projected.key_biases, heads_.num_heads, num_rows,
                             segment.left_context);
  }
}

}  // namespace runnel::cpu
