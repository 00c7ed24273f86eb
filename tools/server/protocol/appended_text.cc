#include "tools/server/protocol/appended_text.h"

#include <algorithm>
#include <utility>

namespace runnel::server {

std::string AppendedText::End(const Utterance& utterance) {
  const std::string sent = std::exchange(sent_, std::string());
  const std::string& text = utterance.nbest.front().text;
  return text.compare(0, sent.size(), sent) == 0 ? text.substr(sent.size()) : "";
}

std::string AppendedText::Add(const LiveUpdate& update) {
  // A rule may begin an utterance anew, which has no text then.
  sent_.resize(std::min(sent_.size(), update.stable_size_before));
  sent_ += update.stable_text;
  return update.stable_text;
}

}  // namespace runnel::server
