#include "encoder/cpu/kernels/one_thread.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace runnel::kernels {
namespace {

// oneDNN and LibTorch share one OpenMP, which LibTorch can ask.
TEST(OneThread, HoldsWhileItLives) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  {
    const OneThread outer;
    EXPECT_EQ(at::get_num_threads(), 1);
    { const OneThread inner; }
    EXPECT_EQ(at::get_num_threads(), 1);
  }
  EXPECT_EQ(at::get_num_threads(), 3);
  at::set_num_threads(before);
}

}  // namespace
}  // namespace runnel::kernels
