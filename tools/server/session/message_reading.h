// A client's message that is read in parts.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_MESSAGE_READING_H_
#define RUNNEL_TOOLS_SERVER_SESSION_MESSAGE_READING_H_

#include <memory>
#include <utility>
#include <vector>

#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/message_buffer.h"

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

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_MESSAGE_READING_H_
