// The hotwords of a stream, as clients name them in start messages.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_HOTWORDS_OPTION_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_HOTWORDS_OPTION_H_

#include <cstddef>

#include "encoder/json/json_section.h"
#include "runtime/search_options.h"
#include "runtime/token_table.h"

namespace runnel::server {

// Largest size of a list in bytes: some thousands of phrases, which take some 20 ms to prepare.
constexpr size_t kMaxHotwordsSize = size_t{1} << 16;

// Reads the fields "hotwords", a list as runtime/hotwords.h describes it, and "hotword_score", if
// they are there. Hotwords select beam search. Throws std::runtime_error like ReadStartOptions,
// also when the client has asked for greedy search.
void ReadHotwords(JsonSection* fields, const TokenTable& tokens, SearchOptions* search);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_HOTWORDS_OPTION_H_
