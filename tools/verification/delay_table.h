// The table of token delays over all recordings.
#ifndef RUNNEL_TOOLS_VERIFICATION_DELAY_TABLE_H_
#define RUNNEL_TOOLS_VERIFICATION_DELAY_TABLE_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/verification/token_delays.h"

namespace runnel {

// The smallest value that a share `quantile` (more than 0, at most 1) of the values does not
// exceed: always one of the values, in any order, at least one.
double Quantile(std::vector<double> values, double quantile);

// Gathers recordings. Rows: both delays of all matched tokens, and of the first and of the last
// tokens of the references.
class DelayTable {
 public:
  void Add(const RecordingDelays& recording);

  size_t num_reference_tokens() const { return num_reference_tokens_; }
  // "118 of 120 reference tokens matched"
  std::string Matches() const;
  // How many tokens were shown and replaced later; "" if none.
  std::string Retractions() const;
  // Count, median, p90, p95 and largest of each row, in milliseconds; "-" in a row without tokens.
  std::string Text() const;

 private:
  enum Group { kAll, kFirst, kLast, kNumGroups };

  void AddTo(Group group, const std::optional<TokenDelay>& delay);

  size_t num_reference_tokens_ = 0;
  size_t num_retracted_ = 0;
  std::array<std::vector<double>, kNumGroups> emission_ms_;
  std::array<std::vector<double>, kNumGroups> text_ms_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_DELAY_TABLE_H_
