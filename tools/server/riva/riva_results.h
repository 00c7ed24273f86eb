// Writes results as messages of NVIDIA Riva.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_RIVA_RESULTS_H_
#define RUNNEL_TOOLS_SERVER_RIVA_RIVA_RESULTS_H_

#include <string>
#include <vector>

#include "riva_asr.pb.h"
#include "runtime/live_update.h"
#include "runtime/result.h"
#include "tools/server/riva/riva_config.h"

namespace runnel::server {

// An utterance that has text, as a final result. Its transcripts end with a space, because clients
// concatenate them.
void FillFinal(const Utterance& utterance, const RivaParts& parts,
               nvidia::riva::asr::StreamingRecognitionResult* result);

// The text of the utterance that is spoken now: a result for the stable text, and one for the
// tentative text. Clients concatenate their transcripts. None without text. `update` holds the
// whole text.
void AddInterim(const LiveUpdate& update, nvidia::riva::asr::StreamingRecognizeResponse* response);

// A recording: a result for each utterance that has text.
void FillRecording(const std::vector<Utterance>& utterances, const RivaParts& parts,
                   nvidia::riva::asr::RecognizeResponse* response);

bool HasText(const Utterance& utterance);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_RIVA_RESULTS_H_
