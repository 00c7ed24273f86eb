#include "tools/client/load_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace runnel::client {
namespace {

constexpr size_t kKeptMismatches = 5;
// A client that failed, or was refused, comes again after a while.
constexpr double kPauseAfterFailureS = 1;

}  // namespace

// One of the concurrent streams, which sends one recording after another.
class LoadRun::Slot : public SessionListener {
 public:
  Slot(LoadRun* run, int64_t index)
      : run_(run), index_(index), start_timer_(run->loop_, [this] { StartStream(); }) {
    start_timer_.SetAfter(run->options_.ramp_s * static_cast<double>(index) /
                          static_cast<double>(run->options_.num_streams));
  }

 private:
  void StartStream() {
    const auto number = static_cast<size_t>(index_ + round_ * run_->options_.num_streams);
    recording_ = &run_->recordings_[number % run_->recordings_.size()];
    SessionOptions options = run_->options_.session;
    options.first_server = number;
    options.seed = static_cast<uint32_t>(number + 1);
    first_partial_ms_ = -1;
    latest_ms_ = 0;
    ++run_->statistics_->num_started;
    session_ =
        std::make_unique<Session>(run_->loop_, run_->connector_, options, recording_->track, this);
  }

  void OnPartial(const std::string& /*text*/, const PartialTiming& timing) override {
    if (first_partial_ms_ < 0) {
      first_partial_ms_ = timing.since_first_packet;
      run_->statistics_->first_partial.Add(first_partial_ms_);
    }
    run_->statistics_->chunk.Add(timing.since_last_sample);
    run_->statistics_->server_chunk.Add(timing.server_latency);
    latest_ms_ = std::max(latest_ms_, timing.since_last_sample);
  }

  void OnTurn(double milliseconds) override {
    run_->statistics_->end_of_speech.Add(milliseconds);
    latest_ms_ = std::max(latest_ms_, milliseconds);
  }

  void OnEnd(const SessionResult& result) override {
    LoadStatistics& statistics = *run_->statistics_;
    statistics.num_resumes += result.num_resumes;
    if (result.is_success) {
      AddSuccess(result, &statistics);
    } else {
      statistics.AddFailure(result);
    }
    // The session is still on the stack, so it is destroyed later.
    run_->loop_->Post([this, failed = !result.is_success] { GoOn(failed); });
  }

  void AddSuccess(const SessionResult& result, LoadStatistics* statistics) {
    ++statistics->num_done;
    statistics->audio_s += recording_->track->duration_s();
    statistics->final_result.Add(result.final_ms);
    statistics->server_final.Add(result.server_final_ms);
    latest_ms_ = std::max({latest_ms_, result.final_ms, result.send_lag_ms});
    if (latest_ms_ > run_->options_.behind_s * 1000) ++statistics->num_behind;
    if (!recording_->expected.has_value() || *recording_->expected == result.text) return;
    ++statistics->num_mismatched;
    if (statistics->mismatches.size() < kKeptMismatches) {
      statistics->mismatches.push_back({recording_->id, *recording_->expected, result.text});
    }
  }

  void GoOn(bool failed) {
    session_.reset();
    ++round_;
    if (HasMore()) return failed ? start_timer_.SetAfter(kPauseAfterFailureS) : StartStream();
    if (--run_->num_active_ == 0) run_->on_done_();
  }

  bool HasMore() const {
    if (run_->options_.duration_s == 0) return round_ < run_->options_.rounds;
    return std::chrono::duration<double>(Clock::now() - run_->begin_).count() <
           run_->options_.duration_s;
  }

  LoadRun* const run_;
  const int64_t index_;
  int64_t round_ = 0;
  const LoadRecording* recording_ = nullptr;
  double first_partial_ms_ = -1;
  double latest_ms_ = 0;  // largest latency of this recording
  Timer start_timer_;
  std::unique_ptr<Session> session_;
};

LoadRun::LoadRun(EventLoop* loop, Connector* connector, const LoadOptions& options,
                 const std::vector<LoadRecording>& recordings, LoadStatistics* statistics,
                 std::function<void()> on_done)
    : loop_(loop),
      connector_(connector),
      options_(options),
      recordings_(recordings),
      statistics_(statistics),
      on_done_(std::move(on_done)),
      begin_(Clock::now()),
      num_active_(options.num_streams) {
  for (int64_t i = 0; i < options_.num_streams; ++i) {
    slots_.push_back(std::make_unique<Slot>(this, i));
  }
}

LoadRun::~LoadRun() = default;

}  // namespace runnel::client
