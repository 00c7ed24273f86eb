#include "runtime/live/chunk_growth.h"

#include <algorithm>

namespace runnel {
namespace {

// A chunk takes no more time than one of twice its size.
constexpr double kMostSavings = 2;

}  // namespace

ChunkGrowth::ChunkGrowth(int max_factor, int num_threads, Clock::time_point now)
    : max_factor_(max_factor), num_threads_(num_threads), window_begin_(now) {}

void ChunkGrowth::Add(const BatchLoad& load, Clock::time_point now) {
  if (max_factor_ == 1) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (now < window_begin_) return;  // settling
  load_.busy_s += load.busy_s;
  load_.audio_s += load.audio_s;
  load_.num_chunks += load.num_chunks;
  load_.lag += load.lag;
  EndWindow(now);
}

int ChunkGrowth::Factor(Clock::time_point now) {
  if (max_factor_ == 1) return 1;
  const std::lock_guard<std::mutex> lock(mutex_);
  EndWindow(now);
  return factor_;
}

void ChunkGrowth::EndWindow(Clock::time_point now) {
  if (now - window_begin_ < kWindow) return;
  const int before = factor_;
  Decide(std::chrono::duration<double>(now - window_begin_).count());
  load_ = BatchLoad();
  window_begin_ = factor_ == before ? now : now + kSettling;
}

void ChunkGrowth::Decide(double elapsed_s) {
  const double cost = load_.audio_s > 0 ? load_.busy_s / load_.audio_s : 0;
  if (cost > 0 && cost_before_ > 0) {
    savings_[factor_] = std::clamp(cost_before_ / cost, 1.0, kMostSavings);
    cost_before_ = 0;
  }
  double busy = load_.busy_s / (num_threads_ * elapsed_s);
  const bool lags = load_.lag > kLag * load_.num_chunks;
  if (busy >= kBusy && lags && factor_ < max_factor_) {
    factor_ *= 2;
    cost_before_ = cost;
    savings_[factor_] = kMostSavings;  // until it is measured
    return;
  }
  while (factor_ > 1 && busy * savings_[factor_] <= kIdle) {
    busy *= savings_[factor_];
    factor_ /= 2;
    cost_before_ = 0;
  }
}

}  // namespace runnel
