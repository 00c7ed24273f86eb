// The options of a stream, as clients name them in start messages and in the query of a URL
// (runtime/options/stream_options.h).
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_START_OPTIONS_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_START_OPTIONS_H_

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "encoder/json/json_section.h"
#include "runtime/token_table.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// The largest "nbest" of Runnel's protocol and of recordings, and of --max_nbest. More results
// delay other clients and help nobody.
constexpr int kMaxNBest = 100;
// The largest StartRequest::max_alternatives.
constexpr int kMaxAlternatives = std::numeric_limits<int>::max();

// The field "nbest", or 0 when it is missing. Throws std::runtime_error like ReadStartOptions.
int ReadNBest(JsonSection* fields);

// Reads the fields of OptionUser::kClient, each optional, into `start`. "hotwords" is a list as
// runtime/hotwords.h describes it, for `tokens`. A list within a message of a client takes some
// 40 ms to prepare at most. "endpointing" is true, false, or an object with the options that need
// it, whose names there have no "endpoint_". Throws std::runtime_error: "<source>: <field> is
// <value>, expected <range>", or "hotwords:<line>: what is wrong".
void ReadStartOptions(JsonSection* fields, const TokenTable& tokens, StartRequest* start);

// Reads the fields of OptionUser::kLive, and early_text and sample_rate, which clients of earlier
// releases send for early_text_interval and sample_rate_hz. Throws as ReadStartOptions does.
void ReadLiveOptions(JsonSection* fields, ChosenOptions* options);

// The request of an uploaded recording. `query`: the (name, value) fields of its URL, decoded.
// The field "token" is ignored here: it is the bearer token. The fields of the object "endpointing"
// have the names of the options, or "endpoint_" before those in the object. Throws
// std::runtime_error, as above with the source "query", also for a field that is unknown or comes
// twice.
StartRequest ReadStartQuery(const std::vector<std::pair<std::string, std::string>>& query,
                            const TokenTable& tokens);

// The value of "endpointing" that stands for `options`: false or an object.
OrderedJson EndpointingAsJson(const EndpointOptions& options);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_START_OPTIONS_H_
