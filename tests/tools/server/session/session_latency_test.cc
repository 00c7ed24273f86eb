// Latencies of a session and counts of its pauses, on a clock that the test sets.
#include "tools/server/session/session_latency.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/cli/seconds.h"
#include "tools/server/session/pause_counter.h"

namespace runnel::server {
namespace {

using Time = SessionLatency::Time;

Time At(double seconds) { return Time() + Seconds(seconds); }

// The value of a series, e.g. "runnel_final_latency_seconds_sum".
double Value(const Metrics& metrics, const std::string& series) {
  const std::string text = metrics.Text({});
  const size_t begin = text.find("\n" + series + " ");
  if (begin == std::string::npos) return -1;
  return std::stod(text.substr(begin + series.size() + 2));
}

ResultInfo Result(bool has_text, bool is_final) { return {std::nullopt, has_text, is_final}; }

TEST(SessionLatency, FromAChunkToItsMessage) {
  Metrics metrics;
  SessionLatency latency(&metrics);
  ResultInfo result = Result(/*has_text=*/false, /*is_final=*/false);
  latency.OnSent(result, At(1));
  EXPECT_EQ(Value(metrics, "runnel_chunk_latency_seconds_count"), 0);
  result.chunk_accepted = At(2);
  latency.OnSent(result, At(2.5));
  EXPECT_EQ(Value(metrics, "runnel_chunk_latency_seconds_count"), 1);
  EXPECT_EQ(Value(metrics, "runnel_chunk_latency_seconds_sum"), 0.5);
}

TEST(SessionLatency, FromTheFirstAudioToTheFirstText) {
  Metrics metrics;
  SessionLatency latency(&metrics);
  latency.OnAudio(At(1));
  latency.OnAudio(At(2));
  latency.OnSent(Result(/*has_text=*/false, /*is_final=*/false), At(3));
  EXPECT_EQ(Value(metrics, "runnel_first_partial_latency_seconds_count"), 0);
  for (const double sent_s : {4.0, 5.0}) {
    latency.OnSent(Result(/*has_text=*/true, /*is_final=*/false), At(sent_s));
  }
  EXPECT_EQ(Value(metrics, "runnel_first_partial_latency_seconds_count"), 1);
  EXPECT_EQ(Value(metrics, "runnel_first_partial_latency_seconds_sum"), 3);
}

TEST(SessionLatency, FromTheEndOfTheAudioToTheFinalResult) {
  Metrics metrics;
  SessionLatency latency(&metrics);
  latency.OnSent(Result(/*has_text=*/true, /*is_final=*/true), At(1));  // of a stream that failed
  EXPECT_EQ(Value(metrics, "runnel_final_latency_seconds_count"), 0);
  latency.OnFinish(At(1));
  latency.OnSent(Result(/*has_text=*/true, /*is_final=*/true), At(1.25));
  EXPECT_EQ(Value(metrics, "runnel_final_latency_seconds_count"), 1);
  EXPECT_EQ(Value(metrics, "runnel_final_latency_seconds_sum"), 0.25);
}

TEST(PauseCounter, CountsAPauseOnce) {
  Metrics metrics;
  PauseCounter pauses(&metrics);
  for (const bool is_paused : {false, true, true, false, true}) {
    pauses.Observe(Pause::kSpeed, is_paused);
  }
  pauses.Observe(Pause::kBuffer, true);
  EXPECT_EQ(Value(metrics, R"(runnel_pauses_total{reason="speed"})"), 2);
  EXPECT_EQ(Value(metrics, R"(runnel_pauses_total{reason="buffer"})"), 1);
  EXPECT_EQ(Value(metrics, R"(runnel_pauses_total{reason="send_queue"})"), 0);
}

}  // namespace
}  // namespace runnel::server
