// Hypotheses as JSON.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_JSON_TEXT_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel {

// An array with an object per hypothesis: text, score, tokens, words. Scores, confidences and times
// have a fixed number of decimals, so that runs which agree to within rounding print the same.
nlohmann::ordered_json NBestJson(const std::vector<Hypothesis>& nbest, const TokenTable& tokens);

// `value` on one line, without a newline. Valid UTF-8 whatever its texts are.
std::string JsonText(const nlohmann::ordered_json& value);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_JSON_TEXT_H_
