// The parts of messages that Deepgram's clients of live audio and of recordings share.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_MESSAGES_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_MESSAGES_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/deepgram_query.h"
#include "tools/server/protocol/http_dialect.h"

namespace runnel::server {

// "2026-01-31T12:00:00Z"
std::string DeepgramNow();

// Two digits for each byte.
std::string Hexadecimal(const std::string& bytes);

// The mean confidence of words; 0 for none.
float MeanConfidence(const std::vector<Word>& words);

// [{"word","start","end","confidence"}], with "punctuated_word" if it `punctuates`. Times are in
// seconds.
OrderedJson DeepgramWords(const std::vector<Word>& words, bool punctuates);

// {"transcript","confidence","words"}, and "languages" where the model has found some.
OrderedJson DeepgramAlternative(const std::string& text, const std::vector<Word>& words,
                                const std::vector<std::string>& languages, bool punctuates);

// Adds "extra" and "warnings" to metadata. There is a warning for each parameter without effect,
// one if the client named a language that does not name `language`, that of the stream ("": the
// model's default, or the only one), and those `of_audio`. "multi" is any language.
// `has_found_language`: whether the model found the language of some of the speech.
void AppendRemarks(const DeepgramRemarks& remarks, const std::string& language,
                   bool has_found_language, const std::vector<std::string>& of_audio,
                   OrderedJson* metadata);

// {"name","version","arch"}.
OrderedJson DeepgramModelInfo(const std::string& model_name);

// `reply` with the header dg-request-id. The body of an error is {"err_code","err_msg",
// "request_id"}, and its message is also in the header dg-error.
HttpReply DeepgramReply(HttpReply reply, const std::string& request_id);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_DEEPGRAM_MESSAGES_H_
