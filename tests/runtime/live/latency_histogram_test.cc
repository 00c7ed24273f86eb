// Quantiles within the promised half percent.
#include "runtime/live/latency_histogram.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(LatencyHistogramTest, EmptyGivesZero) {
  EXPECT_EQ(LatencyHistogram().count(), 0);
  EXPECT_EQ(LatencyHistogram().QuantileMs(0.5), 0);
}

TEST(LatencyHistogramTest, QuantilesOfARamp) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 10000; ++i) histogram.Add(0.01 * i);
  for (const double quantile : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    EXPECT_NEAR(histogram.QuantileMs(quantile), 100 * quantile, 0.006 * 100 * quantile);
  }
}

TEST(LatencyHistogramTest, CountsWeigh) {
  LatencyHistogram histogram;
  histogram.Add(1, 99);
  histogram.Add(1000);
  EXPECT_EQ(histogram.count(), 100);
  EXPECT_NEAR(histogram.QuantileMs(0.99), 1, 0.006);
  EXPECT_NEAR(histogram.QuantileMs(1), 1000, 6);
}

TEST(LatencyHistogramTest, ExtremesAreKept) {
  LatencyHistogram histogram;
  histogram.Add(0);
  histogram.Add(1e300);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_LE(histogram.QuantileMs(0.5), 1.1e-3);
  EXPECT_GE(histogram.QuantileMs(1), 3.5e6);
}

TEST(LatencyHistogramTest, MergeAddsUp) {
  LatencyHistogram a;
  LatencyHistogram b;
  a.Add(1, 3);
  b.Add(100, 1);
  a.Merge(b);
  EXPECT_EQ(a.count(), 4);
  EXPECT_NEAR(a.QuantileMs(0.75), 1, 0.006);
  EXPECT_NEAR(a.QuantileMs(1), 100, 0.6);
}

}  // namespace
}  // namespace runnel
