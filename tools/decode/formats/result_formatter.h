// The interface of output formats: utterances in, text out, piece by piece.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_RESULT_FORMATTER_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_RESULT_FORMATTER_H_

#include <string>

#include "runtime/result.h"

namespace runnel {

// Writes one recording in one format. All returned pieces together, up to that of Finish or Fail,
// are whole lines, or nothing. No class keeps an utterance longer than until Finish, and classes
// that write by utterance keep none.
class ResultFormatter {
 public:
  virtual ~ResultFormatter() = default;

  // Utterances come in order, the last one before Finish.
  virtual std::string Add(const Utterance& utterance) = 0;

  // The recording has ended after `audio_seconds`.
  virtual std::string Finish(double /*audio_seconds*/) { return ""; }

  // Instead of Finish: no further utterance comes, for the reason in `message` (one line).
  // Completes what Add has begun. "" if Add returned nothing so far.
  virtual std::string Fail(const std::string& /*message*/) { return ""; }
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_RESULT_FORMATTER_H_
