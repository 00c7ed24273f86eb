// Requests of Deepgram's POST /v1/listen, and their reply.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/snapshot/sha256.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/deepgram_messages.h"
#include "tools/server/protocol/deepgram_query.h"
#include "tools/server/protocol/phrase_hotwords.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/typed_text.h"
#include "tools/server/recordings/recording_request.h"

namespace runnel::server {
namespace {

class ListenFormat : public RecordingFormat {
 public:
  ListenFormat(const ListenIds& ids, const DeepgramQuery& query, std::string_view audio)
      : ids_(ids),
        punctuates_(ReadPunctuates(query)),
        unused_parameters_(UnusedParameters(query)),
        language_(ReadLanguage(query)),
        lists_utterances_(ReadFlag(query, "utterances")),
        created_(DeepgramNow()) {
    Sha256 hash;
    hash.Add(audio.data(), audio.size());
    sha256_ = Hexadecimal(hash.Bytes());
  }

  std::string Finish(const RecordingResult& result) override {
    std::vector<Word> words;
    for (const Utterance& utterance : result.utterances) {
      const std::vector<Word>& next = utterance.nbest.front().words;
      words.insert(words.end(), next.begin(), next.end());
    }
    OrderedJson alternatives = OrderedJson::array();
    alternatives.push_back(DeepgramAlternative(JoinedTexts(result.utterances), words,
                                               LanguagesOf(result.utterances), punctuates_));
    OrderedJson channels = OrderedJson::array();
    channels.push_back({{"alternatives", std::move(alternatives)}});
    OrderedJson results = {{"channels", std::move(channels)}};
    if (lists_utterances_) results["utterances"] = Utterances(result);
    return JsonText({{"metadata", Metadata(result)}, {"results", std::move(results)}}) + '\n';
  }

 private:
  OrderedJson Metadata(const RecordingResult& result) const {
    OrderedJson metadata = {{"transaction_key", "deprecated"},
                            {"request_id", ids_.request},
                            {"sha256", sha256_},
                            {"created", created_},
                            {"duration", Rounded(result.audio_ms / 1000)},
                            {"channels", 1},
                            {"models", OrderedJson::array({ids_.model})},
                            {"model_info", {{ids_.model, DeepgramModelInfo(ids_.model)}}}};
    AppendWarnings(unused_parameters_, language_, result.options.language, result.warnings,
                   &metadata);
    return metadata;
  }

  OrderedJson Utterances(const RecordingResult& result) const {
    OrderedJson list = OrderedJson::array();
    for (const Utterance& utterance : result.utterances) {
      const Hypothesis& best = utterance.nbest.front();
      if (best.text.empty()) continue;
      list.push_back({{"start", Rounded(utterance.start_ms / 1000)},
                      {"end", Rounded(utterance.end_ms / 1000)},
                      {"confidence", Rounded(static_cast<double>(MeanConfidence(best.words)))},
                      {"channel", 0},
                      {"transcript", best.text},
                      {"words", DeepgramWords(best.words, punctuates_)},
                      {"id", ids_.request + "-" + std::to_string(list.size())}});
    }
    return list;
  }

  const ListenIds ids_;
  const bool punctuates_;
  const std::vector<std::string> unused_parameters_;
  const std::optional<std::string> language_;  // that the client named
  const bool lists_utterances_;
  const std::string created_;
  std::string sha256_;  // of the body
};

// `utt_split`: seconds of silence between two utterances.
void ReadUtterances(const DeepgramQuery& query, ChosenOptions* options) {
  if (!ReadFlag(query, "utterances")) return;
  options->Set("endpointing", true);
  const std::string split = FindParameter(query, "utt_split").value_or("");
  if (split.empty()) return;
  const std::optional<double> silence_s = NumberIn<double>(split);
  if (!silence_s.has_value() || *silence_s < 0 || *silence_s > EndpointOptions::kMaxSeconds) {
    FailParameter("utt_split", split,
                  "a number from 0 to " + Decimal(EndpointOptions::kMaxSeconds, 0));
  }
  options->Set("endpoint_silence_s", std::max(*silence_s, EndpointOptions::kMinSilenceS));
}

// Refuses what would be answered in another place or form than the client reads. A file states its
// encoding, rate and channels.
void CheckAbilities(const DeepgramQuery& query) {
  if (ReadFlag(query, "multichannel")) {
    FailParameter("multichannel", "true", "false: the channels are mixed");
  }
  if (const auto callback = FindParameter(query, "callback")) {
    FailParameter("callback", *callback, "none: the reply has the result");
  }
  CheckParameters(query, {"utterances", "utt_split", "encoding", "sample_rate", "channels"});
}

// No audio file begins like JSON.
void CheckBody(std::string_view body) {
  const size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || body[begin] != '{') return;
  throw FieldMistake(ErrorCode::kBadMessage, "",
                     "the body is JSON, expected an audio file: this server fetches no URL");
}

}  // namespace

RecordingRequest ReadListenRequest(const std::vector<std::pair<std::string, std::string>>& query,
                                   std::string body, const TokenTable& tokens,
                                   const ListenIds& ids) {
  RecordingRequest request;
  Recording& recording = request.recording;
  try {
    CheckAbilities(query);
    ReadUtterances(query, &recording.start.options);
    request.format = std::make_unique<ListenFormat>(ids, query, body);
  } catch (const ClientMistake& mistake) {
    throw FieldMistake(mistake.code(), "", mistake.what());
  }
  CheckBody(body);
  recording.start.options.SetHotwords(PhraseHotwords(ReadPhrases(query), tokens));
  recording.start.language_hint = ReadLanguage(query);
  recording.audio_size = body.size();
  recording.body = std::move(body);
  return request;
}

}  // namespace runnel::server
