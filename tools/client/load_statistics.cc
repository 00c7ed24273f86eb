#include "tools/client/load_statistics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/cli/decimal.h"

namespace runnel::client {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kNameWidth = 24;
constexpr size_t kNumberWidth = 10;

struct NamedLatency {
  const char* title;
  const char* key;
  const LatencyRecord* record;
};

std::array<NamedLatency, 6> Latencies(const LoadStatistics& statistics) {
  return {{{"first partial", "first_partial", &statistics.first_partial},
           {"chunk", "chunk", &statistics.chunk},
           {"chunk, by the server", "server_chunk", &statistics.server_chunk},
           {"end of speech", "end_of_speech", &statistics.end_of_speech},
           {"final", "final", &statistics.final_result},
           {"final, by the server", "server_final", &statistics.server_final}}};
}

std::string Left(const std::string& text) {
  return text + std::string(kNameWidth - std::min(kNameWidth - 1, text.size()), ' ');
}

std::string Right(const std::string& text) {
  return std::string(kNumberWidth - std::min(kNumberWidth - 1, text.size()), ' ') + text;
}

bool IsRefusal(const std::string& code) {
  return code == "full" || code == "address_full" || code == "draining" || code == "refused" ||
         code == "http_503" || code == "http_429";
}

}  // namespace

void LatencyRecord::Add(double milliseconds) {
  if (milliseconds < 0) return;
  histogram_.Add(milliseconds);
  max_ms_ = std::max(max_ms_, milliseconds);
}

// The histogram rounds its ranges; the largest value is known exactly.
double LatencyRecord::QuantileMs(double quantile) const {
  return std::min(histogram_.QuantileMs(quantile), max_ms_);
}

void LoadStatistics::AddFailure(const SessionResult& result) {
  ++(IsRefusal(result.code) ? num_refused : num_failed);
  ++errors[result.code];
  error_examples.emplace(result.code, result.message);
}

std::string LoadTable(const LoadStatistics& statistics, double wall_s, double cpu_s) {
  const auto line = [](const std::string& name, const std::string& value) {
    return Left(name) + value + "\n";
  };
  const auto number = [](int64_t value) { return std::to_string(value); };
  std::string table =
      line("streams", number(statistics.num_started) + " started, " + number(statistics.num_done) +
                          " done, " + number(statistics.num_failed) + " failed, " +
                          number(statistics.num_refused) + " refused") +
      line("of those done", number(statistics.num_behind) + " fell behind, " +
                                number(statistics.num_mismatched) + " with another text, " +
                                number(statistics.num_resumes) + " times resumed") +
      line("audio", Decimal(statistics.audio_s, 1) + " s in " + Decimal(wall_s, 1) +
                        " s; client's CPU " + Decimal(cpu_s, 1) + " s");
  table += Left("latency in ms");
  for (const char* title : {"p50", "p95", "p99", "max", "count"}) table += Right(title);
  table += "\n";
  for (const NamedLatency& latency : Latencies(statistics)) {
    if (latency.record->count() == 0) continue;
    table += Left("  " + std::string(latency.title));
    for (const double quantile : {0.5, 0.95, 0.99}) {
      table += Right(Decimal(latency.record->QuantileMs(quantile), 1));
    }
    table +=
        Right(Decimal(latency.record->max_ms(), 1)) + Right(number(latency.record->count())) + "\n";
  }
  for (const auto& [code, count] : statistics.errors) {
    table += line("error " + code, number(count) + ", e.g. " + statistics.error_examples.at(code));
  }
  for (const Mismatch& mismatch : statistics.mismatches) {
    table += line("another text",
                  mismatch.id + ": '" + mismatch.text + "', expected '" + mismatch.expected + "'");
  }
  return table;
}

std::string LoadJson(const LoadStatistics& statistics, double wall_s, double cpu_s) {
  OrderedJson latencies = OrderedJson::object();
  for (const NamedLatency& latency : Latencies(statistics)) {
    const LatencyRecord& record = *latency.record;
    latencies[latency.key] = {{"count", record.count()},
                              {"p50", Rounded(record.QuantileMs(0.5))},
                              {"p95", Rounded(record.QuantileMs(0.95))},
                              {"p99", Rounded(record.QuantileMs(0.99))},
                              {"max", Rounded(record.max_ms())}};
  }
  OrderedJson mismatches = OrderedJson::array();
  for (const Mismatch& mismatch : statistics.mismatches) {
    mismatches.push_back(
        {{"id", mismatch.id}, {"text", mismatch.text}, {"expected", mismatch.expected}});
  }
  const OrderedJson object = {{"started", statistics.num_started},
                              {"done", statistics.num_done},
                              {"failed", statistics.num_failed},
                              {"refused", statistics.num_refused},
                              {"behind", statistics.num_behind},
                              {"resumes", statistics.num_resumes},
                              {"mismatched", statistics.num_mismatched},
                              {"mismatches", std::move(mismatches)},
                              {"errors", statistics.errors},
                              {"audio_s", Rounded(statistics.audio_s)},
                              {"wall_s", Rounded(wall_s)},
                              {"client_cpu_s", Rounded(cpu_s)},
                              {"latency_ms", std::move(latencies)}};
  return object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace runnel::client
