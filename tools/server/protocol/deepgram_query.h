// The parameters of a URL that Deepgram's clients of live audio and of recordings share.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_QUERY_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_QUERY_H_

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/server/protocol/phrase_hotwords.h"

namespace runnel::server {

using DeepgramQuery = std::vector<std::pair<std::string, std::string>>;  // (name, value), decoded

// Throws ClientMistake with kBadOption: "<name> is '<value>', expected <expected>". The functions
// below throw it, too.
[[noreturn]] void FailParameter(const std::string& name, const std::string& value,
                                const std::string& expected);

// Fails for a parameter that is not among `known`, which the caller reads or has no use for, unless
// it asks for nothing: its value is "false" or empty, or it is about Deepgram's models and
// accounts. Parameters of ReadPunctuates, ReadPhrases and ReadRemarks need no mention.
void CheckParameters(const DeepgramQuery& query, const std::vector<std::string_view>& known);

// What the metadata of a result says about the request.
struct DeepgramRemarks {
  // Parameters without an effect: those that ask for another form of the text, which is what the
  // model writes, and those of the other kind of request. Frameworks ask for some of them by
  // default, so they are not refused.
  std::vector<std::string> unused;
  bool detects_language = false;        // the parameter detect_language
  std::optional<std::string> language;  // ReadLanguage
  DeepgramQuery extra;                  // (key, value) of each parameter "extra", to be returned
};

// `unused_here`: parameters that have no effect in this kind of request, besides those that never
// have one.
DeepgramRemarks ReadRemarks(const DeepgramQuery& query,
                            const std::vector<std::string_view>& unused_here);

// The last value of a parameter; empty when it is not given.
std::optional<std::string> FindParameter(const DeepgramQuery& query, std::string_view name);

// true or false, as FlagIn reads them; false when it is not given.
bool ReadFlag(const DeepgramQuery& query, const std::string& name);

// The `max` of ToInteger where a limit of the server, which is lower, says what is too large.
constexpr int kLimitedByServer = std::numeric_limits<int>::max();

// `value` of the parameter `name`.
int ToInteger(const std::string& name, const std::string& value, int min, int max);

// The code in the parameter `language`; empty when it is not given.
std::optional<std::string> ReadLanguage(const DeepgramQuery& query);

// Whether words have the field punctuated_word.
bool ReadPunctuates(const DeepgramQuery& query);

// The values of keyterm and keywords. A keyword that is to be suppressed is passed over: a negative
// bonus would make the search avoid the phrase wherever it is spoken.
std::vector<WeightedPhrase> ReadPhrases(const DeepgramQuery& query);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_QUERY_H_
