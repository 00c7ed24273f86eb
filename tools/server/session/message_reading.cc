#include "tools/server/session/message_reading.h"

#include "tools/server/dialects/protocol_registry.h"

namespace runnel::server {

bool TakesLong(const Protocol* protocol, const ClientMessage& message) {
  return protocol == nullptr ? FirstTakesLong(message) : protocol->TakesLong(message);
}

MessageReading::MessageReading(std::shared_ptr<Protocol> protocol, ReceivedMessage message)
    : protocol_(std::move(protocol)),
      message_(std::move(message)),
      takes_long_(TakesLong(protocol_.get(), message_.view())) {}

std::shared_ptr<MessageReading> MessageReading::OfRest(std::shared_ptr<Protocol> protocol,
                                                       ReceivedMessage rest) {
  auto reading = std::make_shared<MessageReading>(std::move(protocol), std::move(rest));
  reading->has_begun_ = true;
  return reading;
}

std::vector<ClientRequest> MessageReading::Next(const TokenTable& tokens) {
  if (std::exchange(has_begun_, true)) return protocol_->ReadMore(message_.buffer.bytes());
  if (protocol_ != nullptr) return protocol_->Read(message_.view());
  std::vector<ClientRequest> requests;
  protocol_ = ReadFirstMessage(message_.view(), tokens, &requests);
  return requests;
}

}  // namespace runnel::server
