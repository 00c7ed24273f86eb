#include "tools/verification/delay_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/cli/decimal.h"

namespace runnel {
namespace {

constexpr size_t kNumFigures = 5;

std::string Row(const std::string& name, const std::array<std::string, kNumFigures>& figures) {
  char row[256];
  std::snprintf(row, sizeof(row), "  %-46s %9s %9s %9s %9s %9s\n", name.c_str(), figures[0].c_str(),
                figures[1].c_str(), figures[2].c_str(), figures[3].c_str(), figures[4].c_str());
  return row;
}

std::string DelayRow(const std::string& name, const std::vector<double>& values) {
  if (values.empty()) return Row(name, {"0", "-", "-", "-", "-"});
  const auto figure = [&](double quantile) { return Decimal(Quantile(values, quantile), 0); };
  return Row(name,
             {std::to_string(values.size()), figure(0.5), figure(0.9), figure(0.95), figure(1)});
}

}  // namespace

double Quantile(std::vector<double> values, double quantile) {
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  const auto found = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), found, values.end());
  return *found;
}

void DelayTable::Add(const RecordingDelays& recording) {
  num_reference_tokens_ += recording.num_reference_tokens;
  num_retracted_ += recording.num_retracted;
  for (const TokenDelay& delay : recording.tokens) AddTo(kAll, delay);
  AddTo(kFirst, recording.first);
  AddTo(kLast, recording.last);
}

void DelayTable::AddTo(Group group, const std::optional<TokenDelay>& delay) {
  if (!delay) return;
  emission_ms_[group].push_back(delay->emission_ms);
  text_ms_[group].push_back(delay->text_ms);
}

std::string DelayTable::Matches() const {
  return std::to_string(emission_ms_[kAll].size()) + " of " +
         std::to_string(num_reference_tokens_) + " reference tokens matched";
}

std::string DelayTable::Retractions() const {
  if (num_retracted_ == 0) return "";
  return ", " + std::to_string(num_retracted_) + " tokens shown and replaced later";
}

std::string DelayTable::Text() const {
  constexpr std::array<const char*, kNumGroups> kGroups = {"all tokens", "first of an utterance",
                                                           "last of an utterance"};
  std::string text = Row("", {"count", "median", "p90", "p95", "largest"});
  for (size_t group = 0; group < kNumGroups; ++group) {
    text += DelayRow(std::string("emission delay in ms, ") + kGroups[group], emission_ms_[group]);
  }
  for (size_t group = 0; group < kNumGroups; ++group) {
    text += DelayRow(std::string("text delay in ms, ") + kGroups[group], text_ms_[group]);
  }
  return text;
}

}  // namespace runnel
