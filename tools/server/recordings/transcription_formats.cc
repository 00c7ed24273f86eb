#include "tools/server/recordings/transcription_formats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/decode/formats/result_formatter.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/openai_messages.h"
#include "tools/server/protocol/result_messages.h"

namespace runnel::server {
namespace {

OrderedJson Usage(const RecordingResult& result) {
  return {{"type", "duration"}, {"seconds", Rounded(result.audio_ms / 1000)}};
}

// What the header of the reply says as well, unless it was sent before the end of the file was
// known.
void AddNotes(const RecordingResult& result, OrderedJson* reply) {
  if (result.announced_ms.has_value()) (*reply)["announced_ms"] = Rounded(*result.announced_ms);
  if (!result.warnings.empty()) (*reply)["warnings"] = result.warnings;
}

std::string TextOf(const RecordingResult& result) { return JoinedTexts(result.utterances); }

// As the model found it, as it was told, or as the client named it.
std::string LanguageOf(const RecordingResult& result, const std::string& named) {
  const std::vector<std::string> found = LanguagesOf(result.utterances);
  if (!found.empty()) return found.front();
  return result.options.language.empty() ? named : result.options.language;
}

// A segment with all fields that OpenAI's clients expect. Those that this server does not know have
// the values of an ordinary segment.
std::string Segment(const Utterance& utterance, int64_t index) {
  const Hypothesis& best = utterance.nbest.front();
  OrderedJson ids = OrderedJson::array();
  for (const Token& token : best.tokens) ids.push_back(token.id);
  const auto num_tokens = static_cast<double>(std::max<size_t>(best.tokens.size(), 1));
  return JsonText({{"id", index},
                   {"seek", 0},
                   {"start", Rounded(utterance.start_ms / 1000)},
                   {"end", Rounded(utterance.end_ms / 1000)},
                   {"text", best.text},
                   {"tokens", ids},
                   {"temperature", 0},
                   {"avg_logprob", Rounded(best.score / num_tokens)},
                   {"compression_ratio", 1},
                   {"no_speech_prob", 0}});
}

std::string Segments(const RecordingResult& result) {
  std::string list;
  int64_t index = 0;
  for (const Utterance& utterance : result.utterances) {
    if (utterance.nbest.front().text.empty()) continue;
    list += (list.empty() ? "" : ",") + Segment(utterance, index++);
  }
  return '[' + list + ']';
}

std::string Words(const RecordingResult& result) {
  std::string list;
  for (const Utterance& utterance : result.utterances) {
    for (const Word& word : utterance.nbest.front().words) {
      list += list.empty() ? "" : ",";
      list += JsonText({{"word", word.text},
                        {"start", Rounded(word.start_ms / 1000)},
                        {"end", Rounded(word.end_ms / 1000)}});
    }
  }
  return '[' + list + ']';
}

void AddField(const char* name, const std::string& value, std::string* object) {
  BeginField(name, object);
  *object += value + '}';
}

}  // namespace

std::string ServerSentEvent(std::string json) {
  if (!json.empty() && json.back() == '\n') json.pop_back();
  return "data: " + std::move(json) + "\n\n";
}

std::string TranscriptionJson::Finish(const RecordingResult& result) {
  OrderedJson reply = {{"text", TextOf(result)}, {"usage", Usage(result)}};
  AddNotes(result, &reply);
  AddOpenAiLanguages(result.utterances, &reply);
  return JsonText(reply) + '\n';
}

std::string TranscriptionText::Finish(const RecordingResult& result) {
  return ValidText(TextOf(result)) + '\n';
}

std::string TranscriptionVerbose::Finish(const RecordingResult& result) {
  OrderedJson reply = {{"task", "transcribe"},
                       {"language", LanguageOf(result, language_)},
                       {"duration", Rounded(result.audio_ms / 1000)},
                       {"text", TextOf(result)},
                       {"usage", Usage(result)}};
  AddNotes(result, &reply);
  std::string body = JsonText(reply);
  if (parts_.segments) AddField("segments", Segments(result), &body);
  if (parts_.words) AddField("words", Words(result), &body);
  return body + '\n';
}

std::string TranscriptionCaptions::content_type() const {
  return format_ == OutputFormat::kVtt ? "text/vtt; charset=utf-8" : "text/plain; charset=utf-8";
}

std::string TranscriptionCaptions::Finish(const RecordingResult& result) {
  const std::unique_ptr<ResultFormatter> formatter =
      MakeFormatter(format_, /*id=*/"", /*nbest=*/1, result.tokens);
  std::string captions;
  for (const Utterance& utterance : result.utterances) captions += formatter->Add(utterance);
  return ValidText(captions + formatter->Finish(result.audio_ms / 1000));
}

std::string TranscriptionEvents::Add(const LiveUpdate& update) {
  std::string events;
  for (const Utterance& utterance : update.utterances) {
    const Hypothesis& best = utterance.nbest.front();
    events += Delta(text_.End(utterance), best.begins_word);
    joiner_.Add(best);
    begins_utterance_ = true;
  }
  return update.is_final ? events : events + Delta(text_.Add(update), update.begins_word);
}

std::string TranscriptionEvents::Delta(std::string piece, bool begins_word) {
  if (piece.empty()) return "";
  if (std::exchange(begins_utterance_, false)) {
    Hypothesis begun;
    begun.text = std::move(piece);
    begun.begins_word = begins_word;
    piece = TextJoiner(joiner_).Add(begun);
  }
  return ServerSentEvent(JsonText({{"type", "transcript.text.delta"}, {"delta", piece}}));
}

std::string TranscriptionEvents::Finish(const RecordingResult& result) {
  OrderedJson done = {{"type", "transcript.text.done"}, {"text", TextOf(result)}};
  AddOpenAiLanguages(result.utterances, &done);
  AddNotes(result, &done);
  return ServerSentEvent(JsonText(done));
}

}  // namespace runnel::server
