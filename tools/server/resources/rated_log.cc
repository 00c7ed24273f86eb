#include "tools/server/resources/rated_log.h"

#include <glog/logging.h>

#include <utility>

#include "runtime/text/first_line.h"
#include "runtime/text/printable.h"

namespace runnel::server {
namespace {

constexpr std::chrono::seconds kInterval{1};
constexpr size_t kMaxBytes = 300;

// Never destroyed: threads may log while the process exits.
LineRates& Rates() {
  static auto* const rates = new LineRates;
  return *rates;
}

std::string LeftOut(int64_t count) { return std::to_string(count) + " more lines were left out"; }

google::LogSeverity Severity(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return google::GLOG_INFO;
    case LogLevel::kWarning:
      return google::GLOG_WARNING;
    case LogLevel::kError:
      break;
  }
  return google::GLOG_ERROR;
}

}  // namespace

std::optional<std::string> LineRates::Line(const std::string& kind, std::string_view text,
                                           Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] = rates_.try_emplace(kind, Rate{now, 0});
  Rate& rate = entry->second;
  if (!is_new && now < rate.last + kInterval) {
    ++rate.num_left_out;
    return std::nullopt;
  }
  rate.last = now;
  const int64_t count = std::exchange(rate.num_left_out, 0);
  return kind + ": " + Printable(FirstLine(std::string(text)), kMaxBytes) +
         (count > 0 ? " (" + LeftOut(count) + ")" : "");
}

std::vector<std::string> LineRates::TakeLeftOut() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (auto& [kind, rate] : rates_) {
    const int64_t count = std::exchange(rate.num_left_out, 0);
    if (count > 0) lines.push_back(kind + ": " + LeftOut(count));
  }
  return lines;
}

void LogRated(LogLevel level, const std::string& kind, std::string_view text) {
  const auto line = Rates().Line(kind, text, std::chrono::steady_clock::now());
  if (line.has_value()) google::LogMessage(__FILE__, __LINE__, Severity(level)).stream() << *line;
}

void LogLeftOut() {
  for (const std::string& line : Rates().TakeLeftOut()) LOG(INFO) << line;
}

}  // namespace runnel::server
