#include "tools/server/session/final_messages.h"

#include <glog/logging.h>

#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/first_line.h"

namespace runnel::server {
namespace {

constexpr size_t kManyTokens = 2000;  // in all results together

}  // namespace

bool IsLongResult(const LiveUpdate& update) {
  if (!update.is_final) return false;
  size_t num_tokens = 0;
  for (const Utterance& utterance : update.utterances) {
    for (const Hypothesis& hypothesis : utterance.nbest) num_tokens += hypothesis.tokens.size();
  }
  return num_tokens >= kManyTokens;
}

void WriteFinalMessages(TaskThreads* threads, std::shared_ptr<Protocol> protocol, LiveUpdate update,
                        std::shared_ptr<SessionMailbox> mailbox) {
  const auto shared_update = std::make_shared<const LiveUpdate>(std::move(update));
  threads->RunFirst([shared_update, protocol = std::move(protocol), mailbox = std::move(mailbox)] {
    if (mailbox->is_closed()) return;  // the client has gone
    std::vector<std::string> texts;
    try {
      texts = protocol->OnUpdate(*shared_update);
    } catch (const std::exception& error) {
      LOG(ERROR) << "cannot write a final result: " << FirstLine(error.what());
    }
    mailbox->PutFinalMessages(std::move(texts));
  });
}

}  // namespace runnel::server
