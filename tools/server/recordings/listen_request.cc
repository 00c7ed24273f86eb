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

// Parameters of live streams: a recording has no results before its last.
std::vector<std::string_view> Unused() {
  return {"interim_results", "endpointing", "vad_turnoff", "utterance_end_ms", "vad_events"};
}

class ListenFormat : public RecordingFormat {
 public:
  ListenFormat(const ListenIds& ids, const DeepgramQuery& query, std::string_view audio)
      : ids_(ids),
        punctuates_(ReadPunctuates(query)),
        remarks_(ReadRemarks(query, Unused())),
        lists_utterances_(ReadFlag(query, "utterances")),
        lists_paragraphs_(ReadFlag(query, "paragraphs")),
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
    const std::vector<std::string> languages = LanguagesOf(result.utterances);
    OrderedJson alternative =
        DeepgramAlternative(JoinedTexts(result.utterances), words, languages, punctuates_);
    if (lists_paragraphs_) alternative["paragraphs"] = Paragraphs(result);
    OrderedJson alternatives = OrderedJson::array();
    alternatives.push_back(std::move(alternative));
    OrderedJson channel = {{"alternatives", std::move(alternatives)}};
    if (remarks_.detects_language && !languages.empty()) {
      channel["detected_language"] = languages.front();
    }
    OrderedJson channels = OrderedJson::array();
    channels.push_back(std::move(channel));
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
    AppendRemarks(remarks_, result.options.language, !LanguagesOf(result.utterances).empty(),
                  result.warnings, &metadata);
    return metadata;
  }

  // An utterance is a paragraph of one sentence.
  static OrderedJson Paragraphs(const RecordingResult& result) {
    OrderedJson list = OrderedJson::array();
    std::string transcript;
    for (const Utterance& utterance : result.utterances) {
      const Hypothesis& best = utterance.nbest.front();
      if (best.text.empty()) continue;
      const double start_s = Rounded(utterance.start_ms / 1000);
      const double end_s = Rounded(utterance.end_ms / 1000);
      OrderedJson sentences = OrderedJson::array();
      sentences.push_back({{"text", best.text}, {"start", start_s}, {"end", end_s}});
      list.push_back({{"sentences", std::move(sentences)},
                      {"num_words", best.words.size()},
                      {"start", start_s},
                      {"end", end_s}});
      transcript += (transcript.empty() ? "" : "\n\n") + best.text;
    }
    return {{"transcript", transcript}, {"paragraphs", std::move(list)}};
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
  const DeepgramRemarks remarks_;
  const bool lists_utterances_;
  const bool lists_paragraphs_;
  const std::string created_;
  std::string sha256_;  // of the body
};

// `utt_split`: seconds of silence between two utterances.
void ReadUtterances(const DeepgramQuery& query, ChosenOptions* options) {
  if (!ReadFlag(query, "utterances") && !ReadFlag(query, "paragraphs")) return;
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

// Refuses what would be answered in another place or form than the client reads.
void CheckAbilities(const DeepgramQuery& query) {
  if (ReadFlag(query, "multichannel")) {
    FailParameter("multichannel", "true", "false: the channels are mixed");
  }
  if (const auto callback = FindParameter(query, "callback")) {
    FailParameter("callback", *callback, "none: the reply has the result");
  }
  std::vector<std::string_view> known = Unused();
  known.insert(known.end(),
               {"utterances", "paragraphs", "utt_split", "encoding", "sample_rate", "channels"});
  CheckParameters(query, known);
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
