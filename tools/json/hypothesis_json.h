// Hypotheses as JSON, with the same fields in the output of decode_wav and in the server's replies
// and messages. Written directly as text: a tree of the tokens of hours would take a hundred times
// their memory.
#ifndef RUNNEL_TOOLS_JSON_HYPOTHESIS_JSON_H_
#define RUNNEL_TOOLS_JSON_HYPOTHESIS_JSON_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel {

// Appends [{"text","id","frame","start_ms","end_ms","confidence"}]; "text" is the token as in
// units.txt. Throws std::invalid_argument for an id that is not of `table`.
void AppendTokens(const std::vector<Token>& tokens, const TokenTable& table, std::string* json);

// Appends ,"language":"..." where the hypothesis has one, or adds it to the text of an object.
void AppendLanguage(const Hypothesis& hypothesis, std::string* json);
void AddLanguage(const Hypothesis& hypothesis, std::string* object);

// Appends [{"text","score","language","tokens","words"}], at most `max_results`; "tokens" only when
// `wants_tokens`, "language" only where there is one. A word is
// {"text","start_ms","end_ms","confidence"}. A hypothesis with hotwords also has "hotwords",
// [{"phrase","start_ms","end_ms"}]. Throws as AppendTokens does.
void AppendHypotheses(const std::vector<Hypothesis>& nbest, size_t max_results, bool wants_tokens,
                      const TokenTable& table, std::string* json);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_JSON_HYPOTHESIS_JSON_H_
