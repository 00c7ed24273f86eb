#include "encoder/strides.h"

#include <algorithm>
#include <utility>

namespace runnel {
namespace {

template <class T>
void MeanOfRows(const T* rows, int64_t count, int64_t dim, T* mean) {
  std::copy(rows, rows + dim, mean);
  for (int64_t row = 1; row < count; ++row) {
    for (int64_t i = 0; i < dim; ++i) mean[i] += rows[row * dim + i];
  }
  for (int64_t i = 0; i < dim; ++i) mean[i] /= static_cast<T>(count);
}

}  // namespace

std::vector<Segment> Strided(std::vector<Segment> segments, int64_t stride) {
  int64_t first_row = 0;
  for (Segment& segment : segments) {
    const int64_t begin = segment.frames.begin / stride;
    segment.frames = {begin, begin + NumStrided(segment.num_rows(), stride)};
    segment.first_row = first_row;
    segment.chunk_size = NumStrided(segment.chunk_size, stride);
    if (segment.left_context >= 0) segment.left_context /= stride;
    segment.frame_step *= stride;
    first_row += segment.num_rows();
  }
  return segments;
}

void MeanOfGroups(const std::vector<Segment>& segments, int64_t stride, ConstRows x, Rows y) {
  int64_t output = 0;
  for (const Segment& segment : segments) {
    for (int64_t row = 0; row < segment.num_rows(); row += stride, ++output) {
      const int64_t count = std::min(stride, segment.num_rows() - row);
      const int64_t first = segment.first_row + row;
      if (x.type == DataType::kFloat64) {
        MeanOfRows(x.float64(first), count, x.dim, y.float64(output));
      } else {
        MeanOfRows(x.float32(first), count, x.dim, y.float32(output));
      }
    }
  }
}

}  // namespace runnel
