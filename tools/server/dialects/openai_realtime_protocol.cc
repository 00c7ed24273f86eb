#include "tools/server/dialects/openai_realtime_protocol.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/text/printable.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/openai_messages.h"

namespace runnel::server {
namespace {

using nlohmann::json;

constexpr char kSubprotocol[] = "realtime";
constexpr char kBetaSubprotocol[] = "openai-beta.realtime-v1";
constexpr char kBetaHeader[] = "realtime=v1";
constexpr char kBetaUpdate[] = "transcription_session.update";
constexpr char kRequestError[] = "invalid_request_error";
constexpr int kFatalClose = 4000;
// The least audio that a client may commit. It has an encoder frame of most models.
constexpr double kMinCommitMs = 100;
constexpr size_t kMaxShownType = 40;
constexpr size_t kMaxEventId = 512;  // bytes, as of OpenAI's service
// Of all settings as JSON: those of one event fit, and several events do not add up to more.
constexpr size_t kMaxSessionBytes = kMaxControlBytes + 4096;
// OpenAI's service takes 15 MiB in an append; the usual limit of a message is 1 MiB.
constexpr size_t kAppendFactor = 15;
constexpr std::string_view kAppend = "input_audio_buffer.append";
// Of a part of a long append.
constexpr size_t kPartCharacters = 32768;

[[noreturn]] void FailBase64() {
  throw EventMistake("invalid_value", "audio",
                     "audio is not base64, expected padded base64 without spaces");
}

bool Offers(const Opening& opening, std::string_view subprotocol) {
  return std::count(opening.subprotocols.begin(), opening.subprotocols.end(), subprotocol) > 0;
}

std::string QueryValue(const Opening& opening, std::string_view name) {
  for (const auto& [field, value] : opening.query) {
    if (field == name) return value;
  }
  return "";
}

OpenAiShape ShapeOf(const Opening& opening) {
  const bool is_beta =
      opening.header("OpenAI-Beta") == kBetaHeader || Offers(opening, kBetaSubprotocol);
  return is_beta ? OpenAiShape::kBeta : OpenAiShape::kGeneral;
}

// A code and a message; none for an opening that can be served.
std::pair<std::string, std::string> RefusalOf(const Opening& opening) {
  const std::string intent = QueryValue(opening, "intent");
  if (!intent.empty() && intent != "transcription") {
    return {"invalid_intent",
            "intent is " + intent.substr(0, kMaxShownType) + ", expected transcription"};
  }
  if (!QueryValue(opening, "call_id").empty()) {
    return {"invalid_parameter", "call_id: this server holds no calls"};
  }
  return {};
}

std::string OptionalString(const json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string EventIdOf(const json& event) {
  std::string id = OptionalString(event, "event_id");
  if (id.size() <= kMaxEventId) return id;
  throw EventMistake("invalid_value", "event_id",
                     "event_id has " + std::to_string(id.size()) + " bytes, expected at most " +
                         std::to_string(kMaxEventId));
}

}  // namespace

OpenAiRealtimeProtocol::OpenAiRealtimeProtocol(const Opening& opening, const TokenTable& tokens)
    : tokens_(tokens),
      session_id_(opening.session_id),
      subprotocol_(Offers(opening, kSubprotocol) ? kSubprotocol : ""),
      has_transcription_intent_(!QueryValue(opening, "intent").empty()),
      refusal_(RefusalOf(opening)),
      session_(ShapeOf(opening), opening.session_id, QueryValue(opening, "model")) {}

size_t OpenAiRealtimeProtocol::MaxMessageBytes(size_t limit) const {
  return (kAppendFactor * limit + 2) / 3 * 4 + kMaxControlBytes;
}

// The codes of OpenAI's service, where it has one for this error.
std::string OpenAiRealtimeProtocol::CodeOf(ErrorCode code) const {
  if (code == ErrorCode::kTimeLimit) return "session_expired";
  return code == ErrorCode::kBadOption && !refusal_.first.empty() ? refusal_.first : CodeName(code);
}

Closing OpenAiRealtimeProtocol::CloseAfter(const ProtocolError& error) const {
  return {kFatalClose, ErrorType(error.code) + ("." + CodeOf(error.code))};
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::Open() {
  if (!refusal_.first.empty()) {
    is_over_ = true;
    return {ProtocolError{ErrorCode::kBadOption, refusal_.second}};
  }
  // In the beta shape, only a session that is opened for transcription is called so.
  const bool is_transcription = session_.shape() == OpenAiShape::kBeta && has_transcription_intent_;
  const char* const type = is_transcription ? "transcription_session.created" : "session.created";
  return {ImmediateReply{Event(type, {{"session", session_.AsJson()}})}};
}

// The first audio prepares the keywords, which an earlier event may have named. A short update of
// the session is answered with all of its settings.
bool OpenAiRealtimeProtocol::TakesLong(const ClientMessage& message) const {
  return Protocol::TakesLong(message) || !decoder_.has_value() ||
         MayHaveMember(message.bytes, "session");
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::Read(const ClientMessage& message) {
  if (is_over_) return {};
  std::string event_id;
  std::string mistake;
  try {
    if (!message.is_text) {
      throw EventMistake("invalid_event", "", "a binary message, expected events in JSON");
    }
    return ReadText(message.bytes, &event_id);
  } catch (const EventMistake& error) {
    mistake = ErrorEvent(kRequestError, error.code(), error.what(), error.param(), event_id);
  } catch (const ClientMistake& error) {
    mistake = ErrorEvent(kRequestError, "invalid_event", error.what(), "", event_id);
  }
  return {ImmediateReply{std::move(mistake)}};
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadText(std::string_view text,
                                                            std::string* event_id) {
  if (text.size() > kMaxControlBytes) return ReadLongAppend(text, event_id);
  const json event = ReadClientJson(text);
  *event_id = EventIdOf(event);
  return ReadEvent(event, *event_id);
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadEvent(const json& event,
                                                             const std::string& event_id) {
  const std::string type = OptionalString(event, "type");
  if (type == kAppend) return ReadAppend(event);
  if (type == "input_audio_buffer.commit") return ReadCommit(event_id);
  if (type == "input_audio_buffer.clear") return ReadClear();
  if (type == "session.update") return ReadUpdate(event, "session.updated");
  if (type == kBetaUpdate) return ReadUpdate(event, "transcription_session.updated");
  if (type.empty()) {
    throw EventMistake("invalid_event", "type", R"(an event without a string "type")");
  }
  throw EventMistake("invalid_value", "type",
                     "type is " + Printable(type, kMaxShownType) +
                         ", expected session.update or input_audio_buffer.append, commit or clear");
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadUpdate(const json& event,
                                                              const std::string& answer) {
  const auto found = event.find("session");
  if (found == event.end()) {
    throw EventMistake("invalid_value", "session", "session is missing, expected an object");
  }
  OpenAiSession changed = session_;
  if (event["type"] == kBetaUpdate) changed.set_shape(OpenAiShape::kBeta);
  changed.Apply(*found);
  if (decoder_.has_value() && !changed.HasStreamOf(session_)) {
    throw EventMistake("invalid_parameter", "session",
                       "session: format, transcription and turn_detection cannot change after the "
                       "first audio");
  }
  std::string reply = Event(answer.c_str(), {{"session", changed.AsJson()}});
  if (reply.size() > kMaxSessionBytes) {
    throw EventMistake("invalid_value", "session",
                       "session: " + std::to_string(reply.size()) +
                           " bytes of settings with those of earlier events, expected at most " +
                           std::to_string(kMaxSessionBytes));
  }
  session_ = std::move(changed);
  return {ImmediateReply{std::move(reply)}};
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadAppend(const json& event) {
  const auto found = event.find("audio");
  if (found == event.end() || !found->is_string()) {
    throw EventMistake("invalid_value", "audio", "audio is missing, expected base64");
  }
  const std::optional<std::string> bytes = DecodeBase64(found->get_ref<const std::string&>());
  if (!bytes.has_value()) FailBase64();
  std::vector<ClientRequest> requests;
  StartOnce(&requests);
  AddAudio(*bytes, &requests);
  return requests;
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadLongAppend(std::string_view text,
                                                                  std::string* event_id) {
  const TextParts parts = TakeStringOut(text, "audio");
  const json event = ReadClientJson(parts.rest);
  *event_id = EventIdOf(event);
  if (OptionalString(event, "type") != kAppend) {
    throw ClientMistake(
        ErrorCode::kMessageTooLarge,
        "an event without audio has more than " + std::to_string(kMaxControlBytes) + " bytes");
  }
  if (!IsJsonBase64(parts.string)) FailBase64();
  std::vector<ClientRequest> requests;
  StartOnce(&requests);
  base64_ = JsonBase64Reader();
  num_left_ = parts.string.size();
  ReadPart(parts.string, parts.string_begin, &requests);
  return requests;
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadMore(std::string_view rest) {
  std::vector<ClientRequest> requests;
  ReadPart(rest.substr(0, num_left_), 0, &requests);
  return requests;
}

void OpenAiRealtimeProtocol::ReadPart(std::string_view text, size_t num_before,
                                      std::vector<ClientRequest>* requests) {
  const size_t size = JsonBase64Reader::PartSize(text, kPartCharacters);
  num_left_ -= size;
  AddAudio(base64_.Decode(text.substr(0, size), num_left_ == 0).value(), requests);
  if (num_left_ > 0 && !is_over_) requests->emplace_back(MoreRequest{num_before + size});
}

void OpenAiRealtimeProtocol::StartOnce(std::vector<ClientRequest>* requests) {
  if (decoder_.has_value()) return;
  requests->emplace_back(session_.MakeStart(tokens_));
  decoder_.emplace(session_.encoding());
}

void OpenAiRealtimeProtocol::AddAudio(std::string_view bytes,
                                      std::vector<ClientRequest>* requests) {
  AudioRequest audio;
  try {
    audio.samples = decoder_->Decode(bytes);
  } catch (const ClientMistake& mistake) {
    is_over_ = true;
    requests->emplace_back(ProtocolError{mistake.code(), mistake.what()});
    return;
  }
  num_samples_ += static_cast<int64_t>(audio.samples.size());
  requests->emplace_back(std::move(audio));
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadCommit(const std::string& event_id) {
  if (WaitingMs() < kMinCommitMs) {
    throw EventMistake("input_audio_buffer_commit_empty", "",
                       "the buffer has " + std::to_string(std::lround(WaitingMs())) +
                           " ms of audio, expected at least 100 ms");
  }
  return {BeginFlush(/*clears=*/false, event_id)};
}

std::vector<ClientRequest> OpenAiRealtimeProtocol::ReadClear() {
  std::vector<ClientRequest> requests;
  requests.emplace_back(ImmediateReply{Event("input_audio_buffer.cleared", OrderedJson::object())});
  // Less audio need not have an encoder frame, and holds no word.
  if (WaitingMs() >= kMinCommitMs) requests.emplace_back(BeginFlush(/*clears=*/true, ""));
  return requests;
}

double OpenAiRealtimeProtocol::ToMs(int64_t num_samples) const {
  return static_cast<double>(num_samples) * 1000 / session_.sample_rate_hz();
}

FlushRequest OpenAiRealtimeProtocol::BeginFlush(bool clears, const std::string& event_id) {
  flushes_.push_back({clears, event_id, ToMs(num_samples_)});
  num_flushed_samples_ = num_samples_;
  return {};
}

// An update does not say where among its utterances a flush ended none. The end of an utterance
// tells which flush ended it: it lies within some encoder frames of the end of the audio then.
OpenAiRealtimeProtocol::Flush OpenAiRealtimeProtocol::TakeFlush(double end_ms, int64_t* num_empty,
                                                                std::vector<std::string>* texts) {
  const auto distance = [end_ms](const Flush& flush) { return std::abs(flush.audio_ms - end_ms); };
  while (*num_empty > 0 && flushes_.size() > 1 && distance(flushes_[1]) < distance(flushes_[0])) {
    AnswerEmptyFlush(texts);
    --*num_empty;
  }
  if (flushes_.empty()) return {};
  Flush flush = std::move(flushes_.front());
  flushes_.pop_front();
  return flush;
}

void OpenAiRealtimeProtocol::AnswerEmptyFlush(std::vector<std::string>* texts) {
  const Flush flush = std::move(flushes_.front());
  flushes_.pop_front();
  if (flush.clears) return;
  texts->push_back(ErrorEvent(kRequestError, "input_audio_buffer_commit_empty",
                              "the buffer has no audio since the last item", "", flush.event_id));
}

std::vector<std::string> OpenAiRealtimeProtocol::OnReady(const SessionInfo& /*info*/) { return {}; }

std::vector<std::string> OpenAiRealtimeProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> texts;
  int64_t num_empty = update.num_empty_finalizations;
  for (const Utterance& utterance : update.utterances) EndItem(utterance, &num_empty, &texts);
  for (; num_empty > 0 && !flushes_.empty(); --num_empty) AnswerEmptyFlush(&texts);
  if (!update.error.empty()) {
    texts.push_back(OnError({ErrorCode::kStreamFailed, update.error}).front());
    return texts;
  }
  if (update.is_final) {
    is_over_ = true;
  } else {
    ContinueItem(update, &texts);
  }
  return texts;
}

void OpenAiRealtimeProtocol::EndItem(const Utterance& utterance, int64_t* num_empty,
                                     std::vector<std::string>* texts) {
  double end_ms = utterance.searched_ms;
  bool is_cleared = false;
  if (utterance.end == UtteranceEnd::kFinalize) {
    const Flush flush = TakeFlush(end_ms, num_empty, texts);
    is_cleared = flush.clears;
    end_ms = std::max(end_ms, flush.audio_ms);
  } else {
    is_cleared = IsCleared(end_ms);
  }
  if (is_cleared) {
    text_.End(utterance);
  } else {
    CommitItem(utterance, end_ms, texts);
  }
  has_speech_ = false;
  last_end_ms_ = end_ms;
}

// The audio of a waiting flush lies between the flush before it and its own audio_ms.
bool OpenAiRealtimeProtocol::IsCleared(double end_ms) const {
  const auto next = std::find_if(flushes_.begin(), flushes_.end(),
                                 [end_ms](const Flush& flush) { return flush.audio_ms >= end_ms; });
  return next != flushes_.end() && next->clears;
}

void OpenAiRealtimeProtocol::CommitItem(const Utterance& utterance, double end_ms,
                                        std::vector<std::string>* texts) {
  const std::string& transcript = utterance.nbest.front().text;
  const std::string id = ItemId(utterance.index);
  if (!transcript.empty()) BeginSpeech(utterance.index, utterance.start_ms, texts);
  if (has_speech_) {
    texts->push_back(
        Event("input_audio_buffer.speech_stopped",
              {{"audio_end_ms", std::llround(utterance.searched_ms)}, {"item_id", id}}));
  }
  texts->push_back(Event("input_audio_buffer.committed",
                         {{"previous_item_id", last_item_id_}, {"item_id", id}}));
  const OrderedJson content = {{"type", "input_audio"}, {"transcript", nullptr}};
  const OrderedJson item = {
      {"id", id},       {"object", "realtime.item"}, {"type", "message"},
      {"role", "user"}, {"status", "completed"},     {"content", OrderedJson::array({content})}};
  const OrderedJson fields = {{"previous_item_id", last_item_id_}, {"item", item}};
  if (session_.shape() == OpenAiShape::kBeta) {
    texts->push_back(Event("conversation.item.created", fields));
  } else {
    texts->push_back(Event("conversation.item.added", fields));
    texts->push_back(Event("conversation.item.done", fields));
  }
  AppendDelta(utterance.index, text_.End(utterance), texts);
  const double seconds = std::max(end_ms - last_end_ms_, 0.0) / 1000;
  const OrderedJson usage = {{"type", "duration"}, {"seconds", std::round(seconds * 1e3) / 1e3}};
  OrderedJson completed = {
      {"item_id", id}, {"content_index", 0}, {"transcript", transcript}, {"usage", usage}};
  AddOpenAiLanguages({utterance}, &completed);
  texts->push_back(Event("conversation.item.input_audio_transcription.completed", completed));
  last_item_id_ = id;
}

void OpenAiRealtimeProtocol::ContinueItem(const LiveUpdate& update,
                                          std::vector<std::string>* texts) {
  if (!flushes_.empty() && flushes_.front().clears) return;  // this text will be dropped
  const std::string delta = text_.Add(update);
  if (!update.tokens.empty()) {
    BeginSpeech(update.utterance_index, update.tokens.front().start_ms, texts);
  }
  AppendDelta(update.utterance_index, delta, texts);
}

void OpenAiRealtimeProtocol::BeginSpeech(int64_t index, double start_ms,
                                         std::vector<std::string>* texts) {
  if (has_speech_ || !session_.has_turn_detection()) return;
  has_speech_ = true;
  const double begin_ms = std::max(start_ms - session_.prefix_padding_ms(), last_end_ms_);
  texts->push_back(Event("input_audio_buffer.speech_started",
                         {{"audio_start_ms", std::llround(begin_ms)}, {"item_id", ItemId(index)}}));
}

void OpenAiRealtimeProtocol::AppendDelta(int64_t index, const std::string& delta,
                                         std::vector<std::string>* texts) {
  if (delta.empty()) return;
  texts->push_back(Event("conversation.item.input_audio_transcription.delta",
                         {{"item_id", ItemId(index)}, {"content_index", 0}, {"delta", delta}}));
}

std::vector<std::string> OpenAiRealtimeProtocol::OnError(const ProtocolError& error) {
  is_over_ = true;
  return {ErrorEvent(ErrorType(error.code), CodeOf(error.code), error.message, "", "")};
}

std::string OpenAiRealtimeProtocol::Event(const char* type, const OrderedJson& fields) {
  OrderedJson event = {{"type", type}, {"event_id", "event_" + std::to_string(++num_events_)}};
  event.update(fields);
  return JsonText(event);
}

std::string OpenAiRealtimeProtocol::ErrorEvent(const char* type, const std::string& code,
                                               const std::string& message, const std::string& param,
                                               const std::string& event_id) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
  };
  return Event("error", {{"error",
                          {{"type", type},
                           {"code", code},
                           {"message", Printable(message)},
                           {"param", or_null(param)},
                           {"event_id", or_null(event_id)}}}});
}

std::string OpenAiRealtimeProtocol::ItemId(int64_t index) const {
  return "item_" + session_id_ + "_" + std::to_string(index);
}

}  // namespace runnel::server
