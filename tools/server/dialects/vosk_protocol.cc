#include "tools/server/dialects/vosk_protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "encoder/json/json_section.h"
#include "runtime/text_joiner.h"
#include "tools/cli/decimal.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/phrase_hotwords.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/protocol/typed_text.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"

namespace runnel::server {
namespace {

constexpr std::string_view kPath = "/vosk";
constexpr std::string_view kSubprotocol = "ws";     // of Asterisk
constexpr std::string_view kUnknownWord = "[unk]";  // of a grammar

double Seconds(double ms) { return Rounded(ms / 1000); }

// The words, with `conf` unless they are of an alternative.
OrderedJson Words(const std::vector<Word>& words, bool has_confidence) {
  OrderedJson list = OrderedJson::array();
  for (const Word& word : words) {
    OrderedJson item = OrderedJson::object();
    if (has_confidence) item["conf"] = Rounded(static_cast<double>(word.confidence));
    item["end"] = Seconds(word.end_ms);
    item["start"] = Seconds(word.start_ms);
    item["word"] = word.text;
    list.push_back(std::move(item));
  }
  return list;
}

bool OffersSubprotocol(const Opening& opening) {
  const std::vector<std::string>& offered = opening.subprotocols;
  return std::find(offered.begin(), offered.end(), kSubprotocol) != offered.end();
}

// Vosk's server gives the values of a config to Python's float(), int() and bool(). The functions
// below read what these read, except for fractions of a count, and for strings, lists and objects
// that no client means as true or false.

// Python's numbers in strings may have spaces around them.
std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

// A number, a string with one, or true and false as 1 and 0. Of a string only what is a Number.
template <typename Number>
double ReadNumber(JsonSection* config, const std::string& field, const std::string& expected) {
  if (config->IsBool(field)) return config->Bool(field) ? 1 : 0;
  if (config->IsNumber(field)) return config->Number(field);
  if (!config->IsString(field)) config->Fail(field, expected);
  const auto number = NumberIn<Number>(Stripped(config->String(field)));
  if (!number.has_value()) config->Fail(field, expected);
  return *number;
}

bool ReadWords(JsonSection* config) {
  if (config->IsNull("words")) return false;
  if (config->IsBool("words")) return config->Bool("words");
  if (config->IsNumber("words")) return config->Number("words") != 0;
  const std::string text = config->IsString("words") ? config->String("words") : "";
  if (text == "0" || text == "1") return text == "1";
  const std::optional<bool> flag = FlagIn(text);
  if (!flag.has_value()) config->Fail("words", "true or false");
  return *flag;
}

size_t ReadMaxAlternatives(JsonSection* config) {
  const std::string expected = "an integer from 0";
  const double count = ReadNumber<int>(config, "max_alternatives", expected);
  if (!(count >= 0 && count <= kMaxAlternatives && count == std::floor(count))) {
    config->Fail("max_alternatives", expected);
  }
  return static_cast<size_t>(count);
}

}  // namespace

bool VoskProtocol::IsFor(const Opening& opening) {
  return opening.path == kPath || OffersSubprotocol(opening);
}

bool VoskProtocol::Recognizes(const ClientMessage& /*first*/, const nlohmann::json& json) {
  return json.contains("config");
}

VoskProtocol::VoskProtocol(const Opening& opening, const TokenTable& tokens)
    : tokens_(tokens), subprotocol_(OffersSubprotocol(opening) ? kSubprotocol : "") {}

// The protocol has no error messages.
Closing VoskProtocol::CloseAfter(const ProtocolError& error) const {
  return {CloseCode(error.code), CloseReason(CodeName(error.code), error)};
}

bool VoskProtocol::PreparesHotwords(std::string_view text) {
  return MayHaveMember(text, "phrase_list");
}

bool VoskProtocol::TakesLong(const ClientMessage& message) const {
  const bool is_costly = decoder_ == nullptr ? !message.is_text : decoder_->is_costly();
  return Protocol::TakesLong(message) || is_costly ||
         (message.is_text && PreparesHotwords(message.bytes));
}

std::vector<ClientRequest> VoskProtocol::Read(const ClientMessage& message) {
  // Messages after the end of the audio are ignored.
  if (phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&] {
    if (phase_ == Phase::kEnding) return ReadEnd(decoder()->Decode({}));
    return message.is_text ? ReadText(message) : ReadAudio(message.bytes);
  });
}

std::vector<ClientRequest> VoskProtocol::ReadText(const ClientMessage& text) {
  const nlohmann::json message = ReadClientJson(text);
  if (message.contains("config")) {
    if (decoder_ == nullptr) ReadConfig(message);
    return {};
  }
  if (message.contains("eof")) {
    return ReadEnd(decoder()->Finish());
  }
  if (!message.contains("reset")) {
    throw ClientMistake(ErrorCode::kBadMessage, "a text message without config, eof or reset");
  }
  if (phase_ == Phase::kBeforeStart) return {ImmediateReply{AllResults()}};
  return {FlushRequest{}};
}

std::vector<ClientRequest> VoskProtocol::ReadEnd(std::vector<float> samples) {
  std::vector<ClientRequest> requests;
  if (phase_ == Phase::kBeforeStart) requests.emplace_back(Start());
  const bool has_more = AppendEnd(*decoder(), std::move(samples), &requests);
  phase_ = has_more ? Phase::kEnding : Phase::kOver;
  return requests;
}

void VoskProtocol::ReadConfig(const nlohmann::json& message) {
  JsonSection config = JsonSection(message, "", "text").Section("config");
  if (config.Has("sample_rate")) {
    const std::string expected = "a number from " + std::to_string(StreamOptions::kMinRate);
    const double rate_hz = ReadNumber<double>(&config, "sample_rate", expected);
    // A limit of the server says what is too large.
    if (!(rate_hz >= StreamOptions::kMinRate && rate_hz <= std::numeric_limits<int>::max())) {
      config.Fail("sample_rate", expected);
    }
    sample_rate_hz_ = static_cast<int>(std::lround(rate_hz));
  }
  if (config.Has("words")) shows_words_ = ReadWords(&config);
  if (config.Has("max_alternatives")) max_alternatives_ = ReadMaxAlternatives(&config);
  if (!config.Has("phrase_list") || config.IsNull("phrase_list")) return;
  std::vector<WeightedPhrase> phrases;
  for (std::string& phrase : config.Strings("phrase_list")) {
    if (phrase != kUnknownWord) phrases.push_back({std::move(phrase), 1});
  }
  start_.options.SetHotwords(PhraseHotwords(phrases, tokens_));
}

MediaDecoder* VoskProtocol::decoder() {
  if (decoder_ == nullptr) {
    decoder_ = std::make_unique<SniffingDecoder>(
        std::make_unique<RawMediaDecoder>(SampleEncoding::kPcm16, sample_rate_hz_, 1));
  }
  return decoder_.get();
}

StartRequest VoskProtocol::Start() {
  phase_ = Phase::kAudio;
  const int known_hz = decoder()->sample_rate_hz();
  start_.options.values.stream.sample_rate_hz = known_hz > 0 ? known_hz : sample_rate_hz_;
  start_.options.Set("endpointing", true);
  start_.max_alternatives = static_cast<int>(std::max<size_t>(max_alternatives_, 1));
  return start_;
}

std::vector<ClientRequest> VoskProtocol::ReadAudio(std::string_view bytes) {
  MediaPart part = DecodePart(decoder(), bytes);
  std::vector<ClientRequest> requests;
  if (phase_ == Phase::kBeforeStart && decoder()->sample_rate_hz() > 0) {
    requests.emplace_back(Start());
  }
  if (!part.samples.empty()) requests.emplace_back(AudioRequest{std::move(part.samples)});
  if (part.has_more) {
    requests.emplace_back(MoreRequest{part.num_read});
  } else {
    requests.emplace_back(ImmediateReply{NextAnswer()});
  }
  return requests;
}

std::vector<ClientRequest> VoskProtocol::ReadMore(std::string_view rest) {
  return Read({/*is_text=*/false, rest});
}

std::vector<std::string> VoskProtocol::OnReady(const SessionInfo& /*info*/) { return {}; }

std::vector<std::string> VoskProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> texts;
  for (const Utterance& utterance : update.utterances) {
    if (!utterance.nbest.front().text.empty()) ended_.push_back(utterance.nbest);
    if (utterance.end == UtteranceEnd::kFinalize) texts.push_back(AllResults());
  }
  for (int64_t i = 0; i < update.num_empty_finalizations; ++i) texts.push_back(AllResults());
  if (update.is_final) {
    phase_ = Phase::kOver;
    if (update.error.empty()) texts.push_back(LastResults());
    return texts;
  }
  merged_.Append(update);
  merged_.utterances.clear();
  return texts;
}

std::string VoskProtocol::NextAnswer() {
  if (!ended_.empty()) return AllResults();
  return JsonText({{"partial", merged_.stable_text + merged_.tentative_text}});
}

std::string VoskProtocol::AllResults() {
  std::vector<Hypothesis> nbest(1);
  if (ended_.size() == 1) {
    nbest = std::move(ended_.front());
  } else {
    TextJoiner joiner;
    Hypothesis& joined = nbest.front();
    for (const std::vector<Hypothesis>& one : ended_) {
      const Hypothesis& best = one.front();
      joined.text += joiner.Add(best);
      joined.score += best.score;
      joined.words.insert(joined.words.end(), best.words.begin(), best.words.end());
    }
  }
  ended_.clear();
  return Result(nbest);
}

std::string VoskProtocol::LastResults() {
  std::string results = AllResults();
  const std::vector<std::string> warnings = decoder()->warnings();
  if (warnings.empty()) return results;
  BeginField("warnings", &results);
  return results + JsonText(warnings) + '}';
}

std::string VoskProtocol::Result(const std::vector<Hypothesis>& nbest) const {
  if (max_alternatives_ == 0) {
    const Hypothesis& best = nbest.front();
    OrderedJson result = OrderedJson::object();
    if (shows_words_ && !best.words.empty()) result["result"] = Words(best.words, true);
    result["text"] = best.text;
    return JsonText(result);
  }
  OrderedJson alternatives = OrderedJson::array();
  for (size_t i = 0; i < std::min(nbest.size(), max_alternatives_); ++i) {
    OrderedJson alternative = {{"confidence", Rounded(nbest[i].score)}};
    if (shows_words_ && !nbest[i].words.empty()) {
      alternative["result"] = Words(nbest[i].words, false);
    }
    alternative["text"] = nbest[i].text;
    alternatives.push_back(std::move(alternative));
  }
  return JsonText({{"alternatives", std::move(alternatives)}});
}

std::vector<std::string> VoskProtocol::OnError(const ProtocolError& /*error*/) {
  phase_ = Phase::kOver;
  return {};
}

}  // namespace runnel::server
