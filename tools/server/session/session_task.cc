#include "tools/server/session/session_task.h"

#include <cstddef>
#include <exception>
#include <utility>

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
