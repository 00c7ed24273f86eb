#include "encoder/cpu/attention.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "encoder/cpu/cached_rows.h"
#include "encoder/cpu/kernels/attention/position_kernels.h"

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

}  // namespace

Attention::Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
                     const EncoderConfig& config, const PositionScheme& position,
                     const Options& options, Packer* packer,
                     std::shared_ptr<const FrameSinusoids> sinusoids)
    : options_(options),
      model_dim_(config.model_dim),
      norm_(LayerNorm::If(norm)),
      qkv_(packer->Pack(Stacked({weights.query, weights.key, weights.value}),
                        {options.matmul_type, kernels::MatmulOutput::kStore})),
      out_(packer->Pack(weights.out, {options.matmul_type, kernels::MatmulOutput::kAdd})),
      position_(position),
      content_bias_(Float32Values(position.content_bias)),
      position_bias_(Float32Values(position.position_bias)) {
  heads_.num_heads = config.num_heads;
  heads_.head_dim = config.head_dim();
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
  if (!options_.bfloat16_cache) return;
  state->keys = RowRing(model_dim_, DataType::kBfloat16);
  state->values = RowRing(model_dim_, DataType::kBfloat16);
}

void Attention::Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const {
  kernels::Scratch scratch;
  const Projected projected = Project(segments, x, &scratch);
  auto* context = scratch.Take<float>(x.count * model_dim_);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    const Projected rows = From(projected, segment.first_row);
    AttendSegment(segment, rows, i + 1 < segments.size() ? &segments[i + 1] : nullptr,
                  context + segment.first_row * model_dim_);
    // The last keys of a limited context are kept after the end too, for tools that inspect a
    // state. Unlimited ones would be copied for nothing.
    if (!(segment.ends() && segment.left_context < 0)) Store(segment, rows);
  }
  const kernels::MatmulInput input =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, model_dim_);
  kernels::StoreRows(context, x.count, input);
  out_.Forward(input, x.count, y.float32());
}

Attention::Projected Attention::Project(const std::vector<Segment>& segments, ConstRows x,
                                        kernels::Scratch* scratch) const {
  const int64_t width = 3 * model_dim_;
  Projected projected{scratch->Take<float>(x.count * width), nullptr};
  if (frame_positions_) projected.key_biases = scratch->Take<float>(x.count * heads_.num_heads);
  kernels::Scratch pieces;
  float* qkv = projected.queries_keys_values;
  qkv_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &pieces), x.count, qkv);
  if (frame_positions_) {
    const float* positions = frame_positions_->Rows(segments, x.count, &pieces);
    kernels::FoldPositions(
        {DataOrNull(content_bias_), DataOrNull(position_bias_), heads_.num_heads, heads_.head_dim},
        positions, x.count, qkv + model_dim_, width, projected.key_biases);
  }
  if (rotation_) Rotate(segments, qkv);
  if (options_.bfloat16_cache) {
    auto* rounded = pieces.Take<uint16_t>(2 * model_dim_);
    for (int64_t i = 0; i < x.count; ++i) {
      float* keys_values = qkv + i * width + model_dim_;
      kernels::RoundToBfloat16(keys_values, 2 * model_dim_, rounded);
      kernels::WidenBfloat16(rounded, 2 * model_dim_, keys_values);
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
    rotation_->Fill(segment.frames, sinusoids);
    for (int64_t i = 0; i < num_rows; ++i) {  // a row begins with its queries and keys
      kernels::RotateHeads(sinusoids + i * dim, 2 * heads_.num_heads, heads_.head_dim,
                           queries_keys_values + (segment.first_row + i) * 3 * model_dim_);
    }
  }
}

Attention::Projected Attention::From(const Projected& projected, int64_t row) const {
  return {
      projected.queries_keys_values + row * 3 * model_dim_,
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
    keys.keys[cached + i] = projected.queries_keys_values + (3 * i + 1) * model_dim_;
    keys.values[cached + i] = projected.queries_keys_values + (3 * i + 2) * model_dim_;
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
    rows.queries = projected.queries_keys_values + first * 3 * model_dim_;
    rows.query_stride = 3 * model_dim_;
    rows.context = context + first * model_dim_;
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
  const int64_t stride = 3 * model_dim_;
  const int64_t num_rows = segment.num_rows();
  const float* qkv = projected.queries_keys_values;
  AppendRows(qkv + model_dim_, stride, num_rows, segment.left_context, &state.keys);
  AppendRows(qkv + 2 * model_dim_, stride, num_rows, segment.left_context, &state.values);
  if (state.key_biases) {
    state.key_biases->Append(projected.key_biases, heads_.num_heads, num_rows,
                             segment.left_context);
  }
}

}  // namespace runnel::cpu
