#include "tools/server/session/session_task.h"

#include <cstddef>
#include <exception>
#include <utility>

#include "tools/server/dialects/protocol_registry.h"

namespace runnel::server {
namespace {

constexpr size_t kManyTokens = 2000;  // in all results together
// Tokens whose text takes as long as the fields of a result without tokens.
constexpr size_t kTokensPerResult = 4;

size_t NumTokens(const std::vector<Utterance>& utterances) {
  size_t count = 0;
  for (const Utterance& utterance : utterances) {
    for (const Hypothesis& hypothesis : utterance.nbest) {
      count += kTokensPerResult + hypothesis.tokens.size();
    }
  }
  return count;
}

}  // namespace

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

bool AreLong(const std::vector<Utterance>& utterances) {
  return NumTokens(utterances) >= kManyTokens;
}

bool IsLong(const LiveUpdate& update) {
  return NumTokens(update.utterances) + update.tokens.size() >= kManyTokens;
}

void RunSessionTask(TaskThreads* threads, const std::string& account,
                    std::function<std::function<void()>()> work,
                    std::shared_ptr<SessionMailbox> mailbox) {
  const auto task = [work = std::move(work), mailbox = std::move(mailbox)] {
    if (mailbox->is_closed()) return;  // the client has gone
    SessionMailbox::Done done;
    try {
      done.then = work();
    } catch (const std::exception& error) {
      done.error = error.what();
    }
    mailbox->PutDone(std::move(done));
  };
  threads->RunFirst(task, account);
}

}  // namespace runnel::server
