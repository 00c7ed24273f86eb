// Work of a session that may take longer than a network thread can spare: messages read in parts,
// long results.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/resources/task_threads.h"
#include "tools/server/session/session_mailbox.h"

namespace runnel::server {

// A whole message, with its memory.
struct ReceivedMessage {
  bool is_text = false;
  MessageBuffer buffer;

  ClientMessage view() const { return {is_text, buffer.bytes()}; }
};

// Used by one thread at a time: that of the session, or of the task that reads.
class MessageReading {
 public:
  // `protocol`: null when the message decides.
  MessageReading(std::shared_ptr<Protocol> protocol, ReceivedMessage message);
  // `rest` of a message whose first part has been read.
  static std::shared_ptr<MessageReading> OfRest(std::shared_ptr<Protocol> protocol,
                                                ReceivedMessage rest);

  // Whether reading may take longer than a network thread can spare.
  bool takes_long() const { return takes_long_; }

  // The requests of the next part. Not after the last one.
  std::vector<ClientRequest> Next(const TokenTable& tokens);
  // The part before was not the last, and these bytes of it are not needed again.
  void Consume(size_t num_read) { message_.buffer.Consume(num_read); }

  // Null when no protocol recognises the message.
  const std::shared_ptr<Protocol>& protocol() const { return protocol_; }

 private:
  std::shared_ptr<Protocol> protocol_;
  ReceivedMessage message_;
  const bool takes_long_;
  bool has_begun_ = false;
};

// Whether reading `message` may take longer than a network thread can spare. `protocol`: null when
// the message decides.
bool TakesLong(const Protocol* protocol, const ClientMessage& message);

// Whether their messages take more than some milliseconds to write, which would delay the other
// clients of an event loop.
bool AreLong(const std::vector<Utterance>& utterances);
bool IsLong(const LiveUpdate& update);

// Calls `work` on a thread of `threads`, in a turn of `account`, and puts into the mailbox what it
// returns, or why it throws. The session calls what it finds there. Until then nobody else may use
// the protocol that `work` uses. `work` is not called when the session has ended.
void RunSessionTask(TaskThreads* threads, const std::string& account,
                    std::function<std::function<void()>()> work,
                    std::shared_ptr<SessionMailbox> mailbox);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_TASK_H_
