#include "tools/server/protocol/hotwords_option.h"

#include <memory>
#include <string>

#include "runtime/hotwords.h"
#include "tools/cli/decimal.h"

namespace runnel::server {

void ReadHotwords(JsonSection* fields, const TokenTable& tokens, SearchOptions* search) {
  double score = static_cast<double>(Hotwords::kDefaultScore);
  const bool has_score = fields->Has("hotword_score");
  if (has_score) {
    score = fields->Number("hotword_score");
    constexpr double kMost = static_cast<double>(Hotwords::kMaxScore);
    if (!(score >= -kMost && score <= kMost)) {
      fields->Fail("hotword_score",
                   "a number from " + Decimal(-kMost, 0) + " to " + Decimal(kMost, 0));
    }
  }
  if (!fields->Has("hotwords")) {
    if (has_score) fields->Fail("hotword_score", "hotwords with it");
    return;
  }
  const std::string list = fields->String("hotwords");
  if (list.size() > kMaxHotwordsSize) {
    fields->Fail("hotwords", "a list of at most " + std::to_string(kMaxHotwordsSize) + " bytes");
  }
  if (fields->Has("search") && search->method != SearchMethod::kPrefixBeam) {
    fields->Fail("search", "beam with hotwords");
  }
  search->method = SearchMethod::kPrefixBeam;
  search->hotwords =
      std::make_shared<const Hotwords>(list, tokens, static_cast<float>(score), "hotwords");
}

}  // namespace runnel::server
