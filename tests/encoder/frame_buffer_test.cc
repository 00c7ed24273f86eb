// The rolling window against a deque that does the same slowly.
#include "encoder/frame_buffer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr int64_t kWidth = 3;

// A row is its first value; the others follow from it.
at::Tensor MakeRows(const std::vector<double>& firsts, at::ScalarType dtype) {
  at::Tensor rows = at::full({static_cast<int64_t>(firsts.size()), kWidth}, 0, dtype);
  for (size_t i = 0; i < firsts.size(); ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      rows[static_cast<int64_t>(i)][j] = firsts[i] + static_cast<double>(j) / 4;
    }
  }
  return rows;
}

// A buffer and what it should hold.
struct Pair {
  explicit Pair(at::ScalarType type) : buffer(kWidth, type), dtype(type) {}

  void Append(int64_t count, double* next) {
    std::vector<double> firsts;
    for (int64_t i = 0; i < count; ++i) firsts.push_back((*next)++);
    buffer.Append(MakeRows(firsts, dtype));
    model.insert(model.end(), firsts.begin(), firsts.end());
  }

  void KeepLast(int64_t size) {
    buffer.KeepLast(size);
    while (static_cast<int64_t>(model.size()) > size) model.pop_front();
  }

  void Check() const {
    ASSERT_EQ(buffer.size(), static_cast<int64_t>(model.size()));
    const at::Tensor rows = buffer.Rows();
    ASSERT_EQ(rows.scalar_type(), dtype);
    ASSERT_EQ(rows.sizes(), at::IntArrayRef({buffer.size(), kWidth}));
    ASSERT_TRUE(rows.is_contiguous());
    const at::Tensor values = rows.to(at::kDouble);
    const double* data = values.data_ptr<double>();
    for (size_t i = 0; i < model.size(); ++i) {
      for (int64_t j = 0; j < kWidth; ++j) {
        ASSERT_EQ(*data++, model[i] + static_cast<double>(j) / 4) << "row " << i << ", " << j;
      }
    }
  }

  FrameBuffer buffer;
  std::deque<double> model;
  at::ScalarType dtype;
};

class FrameBufferTest : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Precisions, FrameBufferTest, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

TEST_P(FrameBufferTest, StartsEmpty) {
  Pair pair(GetParam());
  pair.Check();
  pair.KeepLast(0);
  pair.Check();
  EXPECT_EQ(pair.buffer.num_bytes(), 0);
}

TEST_P(FrameBufferTest, RandomAppendsKeepsAndCopies) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    double next = 0;
    std::vector<Pair> pairs(3, Pair(GetParam()));
    for (int step = 0; step < 200; ++step) {
      Pair& pair = pairs[random() % pairs.size()];
      Pair& other = pairs[random() % pairs.size()];
      switch (random() % 8) {
        case 0:
          pair = other;  // itself, too
          break;
        case 1: {
          Pair taken = std::move(other);
          other = Pair(taken);
          pair = std::move(taken);
          break;
        }
        case 2:
        case 3:
          pair.KeepLast(static_cast<int64_t>(random() % 12));
          break;
        default:
          pair.Append(static_cast<int64_t>(random() % 7), &next);
      }
      for (const Pair& each : pairs) {
        each.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(FrameBufferTest, WorksInsideAndOutsideInferenceMode) {
  double next = 0;
  Pair pair(GetParam());
  for (int i = 0; i < 20; ++i) {
    {
      const c10::InferenceMode guard;
      pair.Append(3, &next);
      pair.KeepLast(5);
    }
    Pair copy = pair;
    copy.Append(2, &next);
    copy.Check();
    pair.Append(1, &next);
    pair.Check();
  }
}

TEST_P(FrameBufferTest, CopyOwnsItsRows) {
  double next = 0;
  Pair original(GetParam());
  original.Append(5, &next);
  original.KeepLast(3);
  const Pair copy = original;
  EXPECT_NE(copy.buffer.Rows().data_ptr(), original.buffer.Rows().data_ptr());
  original.Append(50, &next);
  original.KeepLast(1);
  original.Append(1, &next);
  copy.Check();
  original.Check();
  // Only what is live is copied.
  EXPECT_EQ(copy.buffer.num_bytes(),
            3 * kWidth * static_cast<int64_t>(c10::elementSize(GetParam())));
}

TEST_P(FrameBufferTest, WindowOfConstantLengthNeedsConstantMemoryAndFewMoves) {
  constexpr int64_t kWindow = 20;
  const auto row_bytes = kWidth * static_cast<int64_t>(c10::elementSize(GetParam()));
  for (const int64_t added : {1, 7, 33}) {
    SCOPED_TRACE(added);
    const at::Tensor rows = at::full({added, kWidth}, 1, GetParam());
    FrameBuffer buffer(kWidth, GetParam());
    const auto append = [&] {
      buffer.Append(rows);
      buffer.KeepLast(kWindow);
    };
    for (int i = 0; i < 100; ++i) append();
    const int64_t bytes = buffer.num_bytes();
    EXPECT_LE(bytes, 2 * (kWindow + added) * row_bytes);

    // A row that stays moves to the front of the memory now and then, not at every append.
    constexpr int kAppends = 100000;
    int moves = 0;
    const void* memory = buffer.Rows().data_ptr();
    for (int i = 0; i < kAppends; ++i) {
      append();
      ASSERT_EQ(buffer.num_bytes(), bytes);
      const void* now = buffer.Rows().data_ptr();
      if (now < memory) ++moves;
      memory = now;
    }
    EXPECT_LE(moves, kAppends * added / (kWindow + added) + 1);
  }
}

TEST_P(FrameBufferTest, GrowthWithoutLimitCopiesEachRowAFewTimes) {
  FrameBuffer buffer(kWidth, GetParam());
  const at::Tensor row = at::full({1, kWidth}, 1, GetParam());
  int64_t copied = 0;
  int64_t bytes = 0;
  constexpr int64_t kRows = 20000;
  for (int64_t i = 0; i < kRows; ++i) {
    buffer.Append(row);
    if (buffer.num_bytes() != bytes) copied += buffer.size();
    bytes = buffer.num_bytes();
  }
  EXPECT_LE(copied, 3 * kRows);
}

TEST_P(FrameBufferTest, WidthMustFit) {
  FrameBuffer buffer(kWidth, GetParam());
  EXPECT_ANY_THROW(buffer.Append(at::full({2, kWidth + 1}, 1, GetParam())));
}

}  // namespace
}  // namespace runnel
