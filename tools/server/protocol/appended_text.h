// The text of a stream as pieces that are only appended, for protocols that cannot take text back.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_APPENDED_TEXT_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_APPENDED_TEXT_H_

#include <string>

#include "runtime/live_update.h"
#include "runtime/result.h"

namespace runnel::server {

// The pieces of an utterance joined are its text, except after rescoring, which may change text
// that was stable. They do not depend on how updates are merged.
class AppendedText {
 public:
  // The last piece of an utterance that has ended. "" when its text does not begin with the pieces
  // before. The next piece is of the next utterance.
  std::string End(const Utterance& utterance);

  // The piece that `update` adds to the utterance that is spoken: its new stable text. Its
  // utterances are passed to End before.
  std::string Add(const LiveUpdate& update);

 private:
  std::string sent_;  // of the utterance that is spoken
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_APPENDED_TEXT_H_
