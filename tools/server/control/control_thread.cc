#include "tools/server/control/control_thread.h"

#include <glog/logging.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include "runtime/text/first_line.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWatchStep{1};
// Nothing that a network thread does takes a tenth of it.
constexpr double kHungS = 10;

}  // namespace

ControlThread::ControlThread(const std::vector<boost::asio::io_context*>& loops)
    : watch_(loops), manager_(NotifySocket()) {}

ControlThread::~ControlThread() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void ControlThread::OnSignals(std::function<void()> on_end, std::function<void()> on_reload) {
  signals_.async_wait([this, on_end = std::move(on_end), on_reload = std::move(on_reload)](
                          boost::system::error_code stopped, int signal) {
    if (stopped) return;
    OnSignals(on_end, on_reload);
    signal == SIGHUP ? on_reload() : on_end();
  });
}

void ControlThread::Do(const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(io_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void ControlThread::After(Clock::duration time, std::function<void()> work) {
  const auto timer = std::make_shared<boost::asio::steady_timer>(io_, time);
  timer->async_wait([timer, work = std::move(work)](boost::system::error_code stopped) {
    if (!stopped) work();
  });
}

void ControlThread::Start() {
  manager_.Tell("READY=1");
  Watch();
  // An exception ends the handler that threw it, not the loop.
  thread_ = std::thread([this] {
    const auto work = boost::asio::make_work_guard(io_);
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {
        LOG(ERROR) << "control thread: " << FirstLine(error.what());
      }
    }
  });
}

double ControlThread::HungS() const {
  const double silence_s = watch_.SilenceS(Clock::now());
  return silence_s >= kHungS ? silence_s : 0;
}

void ControlThread::Watch() {
  if (HungS() == 0) manager_.Tell("WATCHDOG=1");
  watch_.Ask(Clock::now());
  LogLeftOut();
  After(kWatchStep, [this] { Watch(); });
}

void ControlThread::EndProcessWithin(Clock::duration time) {
  const Clock::time_point end = Clock::now() + time;
  const bool is_set = end_timer_.expiry() != Clock::time_point();
  if (is_set && end_timer_.expiry() <= end) return;
  end_timer_.expires_at(end);
  end_timer_.async_wait([](boost::system::error_code stopped) {
    if (stopped) return;
    LOG(ERROR) << "ends the process, because a thread of the server does not end";
    google::FlushLogFiles(google::GLOG_INFO);
    std::_Exit(EXIT_FAILURE);
  });
}

}  // namespace runnel::server
