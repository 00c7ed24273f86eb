#include "tools/server/dialects/deepgram_protocol.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/deepgram_messages.h"
#include "tools/server/protocol/result_messages.h"

namespace runnel::server {
namespace {

// Of mono audio: index of the channel, number of channels.
OrderedJson OneChannel() { return OrderedJson::array({0, 1}); }

double Seconds(double ms) { return Rounded(ms / 1000); }

// Browsers offer "token" or "bearer", then the credential.
std::string ChosenSubprotocol(const std::vector<std::string>& offered) {
  if (offered.empty() || (offered[0] != "token" && offered[0] != "bearer")) return "";
  return offered[0];
}

}  // namespace

bool DeepgramProtocol::IsFor(const Opening& opening) {
  return opening.path == kPath || opening.path == kOtherPath;
}

DeepgramProtocol::DeepgramProtocol(const Opening& opening, const TokenTable& tokens)
    : tokens_(tokens),
      text_tokens_(&tokens),
      request_id_(opening.session_id),
      subprotocol_(ChosenSubprotocol(opening.subprotocols)),
      options_(ReadDeepgramQuery(opening.query)),
      created_(DeepgramNow()) {
  if (opening.path != kPath) {
    throw ClientMistake(ErrorCode::kUnknownVersion, "the path is " + std::string(kOtherPath) +
                                                        ", whose protocol (Flux) is not "
                                                        "supported; expected " +
                                                        std::string(kPath));
  }
}

std::vector<std::pair<std::string, std::string>> DeepgramProtocol::headers() const {
  return {{"dg-request-id", request_id_}};
}

// The protocol has no error messages: the reason of the close frame begins with one of its codes.
Closing DeepgramProtocol::CloseAfter(const ProtocolError& error) const {
  constexpr int kInternalError = 1011;
  switch (error.code) {
    case ErrorCode::kIdleTimeout:
      return {kInternalError, CloseReason("NET-0001", error)};
    case ErrorCode::kBadJson:
    case ErrorCode::kBadMessage:
    case ErrorCode::kBadOption:
    case ErrorCode::kMessageTooLarge:
      return {CloseCode(error.code), CloseReason("DATA-0000", error)};
    default:
      return {CloseCode(error.code), CloseReason(CodeName(error.code), error)};
  }
}

// The message that starts the stream prepares the hotwords, which the query named.
bool DeepgramProtocol::TakesLong(const ClientMessage& message) const {
  const bool may_prepare = phase_ == Phase::kBeforeStart && !options_.phrases.empty();
  const bool decodes = !message.is_text || has_bytes_;  // its end, too
  return may_prepare || Protocol::TakesLong(message) || (decodes && options_.decoder->is_costly());
}

std::vector<ClientRequest> DeepgramProtocol::Read(const ClientMessage& message) {
  // Messages after CloseStream are ignored.
  if (phase_ == Phase::kFinished || phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&]() -> std::vector<ClientRequest> {
    if (message.is_text) return ReadText(message);
    return message.bytes.empty() ? std::vector<ClientRequest>() : ReadAudio(message.bytes);
  });
}

StartRequest DeepgramProtocol::Start() {
  phase_ = Phase::kAudio;
  StartRequest start = options_.start;
  start.options.values.stream.sample_rate_hz = options_.decoder->sample_rate_hz();
  start.options.SetHotwords(PhraseHotwords(options_.phrases, tokens_));
  return start;
}

std::vector<ClientRequest> DeepgramProtocol::ReadMore(std::string_view rest) {
  return Checked(&phase_, [&] {
    return phase_ == Phase::kEnding ? ReadEnd(options_.decoder->Decode({})) : ReadAudio(rest);
  });
}

std::vector<ClientRequest> DeepgramProtocol::ReadAudio(std::string_view bytes) {
  MediaPart part = DecodePart(options_.decoder.get(), bytes);
  has_bytes_ = has_bytes_ || part.num_read > 0;
  audio_hash_.Add(bytes.data(), part.num_read);
  std::vector<ClientRequest> requests;
  if (phase_ == Phase::kBeforeStart && options_.decoder->sample_rate_hz() > 0) {
    requests.emplace_back(Start());
  }
  num_samples_ += static_cast<int64_t>(part.samples.size());
  if (!part.samples.empty()) requests.emplace_back(AudioRequest{std::move(part.samples)});
  if (part.has_more) requests.emplace_back(MoreRequest{part.num_read});
  return requests;
}

std::vector<ClientRequest> DeepgramProtocol::ReadText(const ClientMessage& text) {
  const nlohmann::json message = ReadClientJson(text);
  const auto found = message.find("type");
  if (found == message.end() || !found->is_string()) {
    throw ClientMistake(ErrorCode::kBadMessage, R"(a text message without a string "type")");
  }
  const auto type = found->get<std::string>();
  if (type == "KeepAlive" || type == "Configure") return {};
  if (type == "Finalize") {
    if (phase_ == Phase::kBeforeStart) return {ImmediateReply{EmptyFinalize()}};
    return {FlushRequest{}};
  }
  if (type != "CloseStream") {
    throw ClientMistake(
        ErrorCode::kBadMessage,
        "type is " + Printable(type, 40) + ", expected KeepAlive, Finalize or CloseStream");
  }
  return ReadEnd(options_.decoder->Finish());
}

std::vector<ClientRequest> DeepgramProtocol::ReadEnd(std::vector<float> samples) {
  std::vector<ClientRequest> requests;
  if (phase_ == Phase::kBeforeStart) {
    if (has_bytes_ && options_.decoder->sample_rate_hz() == 0) {
      throw ClientMistake(ErrorCode::kBadMessage, "the audio ends within its header");
    }
    requests.emplace_back(Start());
  }
  num_samples_ += static_cast<int64_t>(samples.size());
  const bool has_more = AppendEnd(*options_.decoder, std::move(samples), &requests);
  phase_ = has_more ? Phase::kEnding : Phase::kFinished;
  return requests;
}

std::vector<std::string> DeepgramProtocol::OnReady(const SessionInfo& info) {
  text_tokens_ = info.text_tokens;
  model_name_ = info.model_name;
  language_ = info.options.language;
  sample_rate_hz_ = info.options.sample_rate_hz;
  silence_ms_ = info.options.endpoints.rules[EndpointOptions::kSilence].min_silence_s * 1000;
  return {};
}

std::vector<std::string> DeepgramProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> texts;
  for (const Utterance& utterance : update.utterances) AppendFinal(utterance, &texts);
  if (!update.error.empty()) {
    phase_ = Phase::kOver;
    return texts;
  }
  for (int64_t i = 0; i < update.num_empty_finalizations; ++i) texts.push_back(EmptyFinalize());
  if (update.is_final) {
    phase_ = Phase::kOver;
    texts.push_back(Metadata());
    return texts;
  }
  merged_.Append(update);
  merged_.utterances.clear();
  AppendRunning(&texts);
  return texts;
}

void DeepgramProtocol::AppendFinal(const Utterance& utterance, std::vector<std::string>* texts) {
  const Hypothesis& best = utterance.nbest.front();
  AppendUtteranceEnd(best.words.empty() ? utterance.searched_ms : best.words.front().start_ms,
                     texts);
  if (!best.words.empty()) {
    AppendSpeechStarted(best.words.front().start_ms, texts);
    last_word_end_ms_ = best.words.back().end_ms;
  }
  // An utterance that its length ended has less silence at its end.
  const double last_ms = best.tokens.empty() ? stretch_start_ms_ : best.tokens.back().start_ms;
  const bool is_endpoint =
      utterance.end == UtteranceEnd::kEndToken ||
      (utterance.end == UtteranceEnd::kEndpoint && utterance.searched_ms - last_ms >= silence_ms_);
  const bool ends_speech =
      (is_endpoint && options_.finds_endpoints) || utterance.end == UtteranceEnd::kFinish;
  if (ends_speech) {
    open_speech_ms_ = -1;
  } else if (!best.words.empty()) {
    open_speech_ms_ = last_ms;  // the rules of endpoints count from there, too
  }
  const std::vector<std::string> languages = LanguagesOf({utterance});
  has_found_language_ = has_found_language_ || !languages.empty();
  texts->push_back(Results(best.text, best.words, languages, utterance.searched_ms,
                           {{"is_final", true},
                            {"speech_final", ends_speech},
                            {"from_finalize", utterance.end == UtteranceEnd::kFinalize}}));
  stretch_start_ms_ = utterance.searched_ms;
  has_speech_started_ = false;
}

void DeepgramProtocol::AppendRunning(std::vector<std::string>* texts) {
  bool has_results = !texts->empty();
  const std::vector<Word> words =
      text_tokens_->Words(merged_.tokens, UnfinishedCharacter::kLeaveOut);
  AppendUtteranceEnd(words.empty() ? merged_.audio_ms : words.front().start_ms, texts);
  if (words.empty()) {
    has_results = AppendEndOfSpeech(texts) || has_results;
  } else {
    AppendSpeechStarted(words.front().start_ms, texts);
  }
  // After CloseStream only final results matter: some clients leave at the next message.
  const bool has_ended = phase_ == Phase::kEnding || phase_ == Phase::kFinished;
  if (!options_.interim_results || has_ended || (has_results && words.empty())) return;
  texts->push_back(
      Results(merged_.stable_text + merged_.tentative_text, words, {}, merged_.audio_ms,
              {{"is_final", false}, {"speech_final", false}, {"from_finalize", false}}));
}

void DeepgramProtocol::AppendUtteranceEnd(double gap_end_ms, std::vector<std::string>* texts) {
  if (options_.utterance_end_ms == 0 || last_word_end_ms_ < 0 ||
      gap_end_ms - last_word_end_ms_ < options_.utterance_end_ms) {
    return;
  }
  texts->push_back(JsonText({{"type", "UtteranceEnd"},
                             {"channel", OneChannel()},
                             {"last_word_end", Seconds(last_word_end_ms_)}}));
  last_word_end_ms_ = -1;
}

bool DeepgramProtocol::AppendEndOfSpeech(std::vector<std::string>* texts) {
  if (!options_.finds_endpoints || open_speech_ms_ < 0 ||
      merged_.audio_ms - open_speech_ms_ < silence_ms_) {
    return false;
  }
  texts->push_back(Results("", {}, {}, merged_.audio_ms,
                           {{"is_final", true}, {"speech_final", true}, {"from_finalize", false}}));
  stretch_start_ms_ = merged_.audio_ms;
  open_speech_ms_ = -1;
  return true;
}

void DeepgramProtocol::AppendSpeechStarted(double start_ms, std::vector<std::string>* texts) {
  if (!options_.vad_events || has_speech_started_) return;
  texts->push_back(JsonText(
      {{"type", "SpeechStarted"}, {"channel", OneChannel()}, {"timestamp", Seconds(start_ms)}}));
  has_speech_started_ = true;
}

std::string DeepgramProtocol::Results(const std::string& text, const std::vector<Word>& words,
                                      const std::vector<std::string>& languages, double end_ms,
                                      const OrderedJson& kind) const {
  OrderedJson alternatives = OrderedJson::array();
  alternatives.push_back(DeepgramAlternative(text, words, languages, options_.punctuates));
  // A Finalize within speech may leave a word to the next results that began before it.
  const double start_ms =
      words.empty() ? stretch_start_ms_ : std::min(stretch_start_ms_, words.front().start_ms);
  OrderedJson results = {{"type", "Results"},
                         {"channel_index", OneChannel()},
                         {"start", Seconds(start_ms)},
                         {"duration", Seconds(std::max(end_ms - start_ms, 0.0))}};
  results.update(kind);
  results["channel"] = {{"alternatives", std::move(alternatives)}};
  results["metadata"] = {{"request_id", request_id_},
                         {"model_uuid", model_name_},
                         {"model_info", DeepgramModelInfo(model_name_)}};
  return JsonText(results);
}

// Answers a Finalize after which no audio waits.
std::string DeepgramProtocol::EmptyFinalize() const {
  return Results("", {}, {}, stretch_start_ms_,
                 {{"is_final", true}, {"speech_final", false}, {"from_finalize", true}});
}

std::string DeepgramProtocol::Metadata() {
  const double duration_s = static_cast<double>(num_samples_) / std::max(sample_rate_hz_, 1);
  OrderedJson metadata = {{"type", "Metadata"},
                          {"transaction_key", "deprecated"},
                          {"request_id", request_id_},
                          {"sha256", Hexadecimal(audio_hash_.Bytes())},
                          {"created", created_},
                          {"duration", Rounded(duration_s)},
                          {"channels", 1}};
  AppendRemarks(options_.remarks, language_, has_found_language_, options_.decoder->warnings(),
                &metadata);
  return JsonText(metadata);
}

std::vector<std::string> DeepgramProtocol::OnError(const ProtocolError& /*error*/) {
  phase_ = Phase::kOver;
  return {};
}

}  // namespace runnel::server
