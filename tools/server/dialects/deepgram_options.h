// The query of a Deepgram client: the options of its stream and of the messages to it.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_OPTIONS_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "tools/server/protocol/deepgram_query.h"
#include "tools/server/protocol/phrase_hotwords.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

struct DeepgramOptions {
  StartRequest start;  // its sample rate is that of the decoder; without the hotwords
  std::vector<WeightedPhrase> phrases;  // that the search prefers
  std::unique_ptr<MediaDecoder> decoder;
  bool interim_results = false;
  bool finds_endpoints = true;  // speech_final may be true
  int utterance_end_ms = 0;     // 0: no UtteranceEnd
  bool vad_events = false;
  bool punctuates = false;  // words have punctuated_word
  DeepgramRemarks remarks;
};

// docs/protocol.md lists the parameters. Throws ClientMistake with kBadOption, naming parameter,
// value and what was expected.
DeepgramOptions ReadDeepgramQuery(const DeepgramQuery& query);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_OPTIONS_H_
