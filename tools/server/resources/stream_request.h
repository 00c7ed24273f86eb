// Completes a client's request with the server's defaults, and checks it against the limits.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_STREAM_REQUEST_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_STREAM_REQUEST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/stream.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/limits.h"
#include "tools/server/resources/services.h"

namespace runnel::server {

// The options of `request`, completed by `defaults`: those of the server's flags, at the model's
// rate. A client that needs a beam search has kPrefixBeam where `defaults` have greedy search. Beam
// search has the language model of `defaults`, and their hotwords if the client has none of its
// own; greedy search has no rescoring of `defaults`. For a client that names the CTC head,
// `defaults` of transducers do not count; neither does their ctc_weight for another search than
// theirs. A beam_size that the client did not choose is lowered to the limit, and so are
// max_alternatives. A rate that the client of an Opus stream did not choose is the lowest of Opus
// that keeps the band of `defaults`. `languages`: of the model, of which MatchLanguage
// chooses for a language_hint. Throws std::invalid_argument, naming option, value, limit
// and its flag, when an option that the client chose exceeds its limit, and when it has no effect.
StreamOptions CompleteOptions(const StartRequest& request, const ChosenOptions& defaults,
                              const Limits& limits, const std::vector<std::string>& languages = {});

// A stream of the server's recognizer with the options that `request` asks for, whose computing
// time `account` is charged. Throws std::invalid_argument when they cannot be served. Preparing
// hotwords takes some milliseconds.
std::shared_ptr<LiveStream> OpenStream(const Services& services, const std::string& account,
                                       const StartRequest& request, UpdateCallback on_update);

// Throws std::invalid_argument when a stream that was begun on another server has options beyond
// the limits of this one, and not the defaults of this one.
void CheckResumed(const StreamOptions& resumed, const ChosenOptions& defaults,
                  const Limits& limits);

// Throws std::invalid_argument when `nbest` exceeds max_nbest.
void CheckNBest(int nbest, const Limits& limits);

// Throws std::invalid_argument when the rate exceeds max_sample_rate.
void CheckSampleRate(int sample_rate_hz, const Limits& limits);

// Whether the stream takes all of the samples, now or later. False for a whole-utterance stream
// that has no room for them: it would fail if it got them. A stream that is over drops them.
bool WillFit(const LiveStream& stream, size_t num_samples);

// The error message for a whole-utterance stream whose utterance exceeds max_buffered_s.
std::string UtteranceTooLong(const Limits& limits);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_STREAM_REQUEST_H_
