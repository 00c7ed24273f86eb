#include "tools/server/protocol/openai_messages.h"

#include <string>
#include <utility>

#include "tools/server/protocol/result_messages.h"

namespace runnel::server {

void AddOpenAiLanguages(const std::vector<Utterance>& utterances, OrderedJson* message) {
  OrderedJson list = OrderedJson::array();
  for (const std::string& language : LanguagesOf(utterances)) list.push_back({{"code", language}});
  if (!list.empty()) (*message)["languages"] = std::move(list);
}

}  // namespace runnel::server
