// The name that a mistyped one probably means.
#ifndef RUNNEL_TOOLS_CLI_CLOSEST_NAME_H_
#define RUNNEL_TOOLS_CLI_CLOSEST_NAME_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace runnel {

// Insertions, deletions and replacements of letters, and swaps of neighbours, that make `b` of `a`.
inline size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

// The one of `names` with the fewest edits, at most one for every three letters of `name`; "" if
// there is none.
inline std::string ClosestName(const std::string& name, const std::vector<std::string>& names) {
  size_t fewest = std::max<size_t>(name.size() / 3, 1) + 1;
  std::string closest;
  for (const std::string& known : names) {
    const size_t distance = EditDistance(name, known);
    if (distance >= fewest) continue;
    fewest = distance;
    closest = known;
  }
  return closest;
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_CLOSEST_NAME_H_
