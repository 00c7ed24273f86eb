#include "tools/server/protocol/language_match.h"

#include <algorithm>

namespace runnel::server {

std::optional<std::string> MatchLanguage(const std::vector<std::string>& languages,
                                         const std::string& code) {
  const auto first = [&languages](const auto& is_meant) -> std::optional<std::string> {
    const auto found = std::find_if(languages.begin(), languages.end(), is_meant);
    return found == languages.end() ? std::nullopt : std::optional(*found);
  };
  const auto named = [&first](const std::string& name) {
    return first([&name](const std::string& language) { return language == name; });
  };
  if (auto exact = named(code)) return exact;
  const std::string prefix = code + "-";
  const auto of_region = first([&prefix](const std::string& language) {
    return language.compare(0, prefix.size(), prefix) == 0;
  });
  return of_region.has_value() ? of_region : named(code.substr(0, code.find('-')));
}

}  // namespace runnel::server
