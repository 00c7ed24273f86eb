// The language of a model that a client's language code names.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_LANGUAGE_MATCH_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_LANGUAGE_MATCH_H_

#include <optional>
#include <string>
#include <vector>

namespace runnel::server {

// `code` if it is in `languages`. Otherwise the first of a region ("en-US" for "en"), or the
// language without its region ("en" for "en-US"). Empty if there is none of them.
std::optional<std::string> MatchLanguage(const std::vector<std::string>& languages,
                                         const std::string& code);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_LANGUAGE_MATCH_H_
