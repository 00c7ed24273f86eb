#include "tools/server/dialects/protocol_registry.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tools/server/dialects/deepgram_protocol.h"
#include "tools/server/dialects/openai_realtime_protocol.h"
#include "tools/server/dialects/runnel_protocol.h"
#include "tools/server/dialects/sherpa_protocol.h"
#include "tools/server/dialects/vosk_protocol.h"
#include "tools/server/dialects/wenet_protocol.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/deepgram_messages.h"
#include "tools/server/protocol/protocol_error.h"

namespace runnel::server {
namespace {

// A protocol that an opening chooses. Its class has
//   static bool IsFor(const Opening& opening);
//   Kind(const Opening& opening, const TokenTable& tokens);  // throws ClientMistake
struct ByOpening {
  bool (*is_for)(const Opening& opening);
  std::unique_ptr<Protocol> (*make)(const Opening& opening, const TokenTable& tokens);
};

template <typename Kind>
constexpr ByOpening OpeningOf() {
  return {&Kind::IsFor,
          [](const Opening& opening, const TokenTable& tokens) -> std::unique_ptr<Protocol> {
            return std::make_unique<Kind>(opening, tokens);
          }};
}

// A protocol that the first message chooses. Its class has
//   static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);
//   explicit Kind(const TokenTable& tokens);
struct ByMessage {
  // `json`: the object that a text message holds; null for any other message.
  bool (*recognizes)(const ClientMessage& first, const nlohmann::json& json);
  std::unique_ptr<Protocol> (*make)(const TokenTable& tokens);
  // Whether reading this text of the first message may prepare hotwords; null: never.
  bool (*prepares_hotwords)(std::string_view text);
};

template <typename Kind>
constexpr ByMessage MessageOf(bool (*prepares_hotwords)(std::string_view text) = nullptr) {
  return {&Kind::Recognizes,
          [](const TokenTable& tokens) -> std::unique_ptr<Protocol> {
            return std::make_unique<Kind>(tokens);
          },
          prepares_hotwords};
}

// An interface for recordings.
struct ByPath {
  std::string_view path;
  RecordingRequest (*read)(RecordingPost post, const TokenTable& tokens,
                           const std::string& model_name);
};

// The first entry that fits is chosen.
constexpr std::array kByOpening = {
    OpeningOf<DeepgramProtocol>(),
    OpeningOf<VoskProtocol>(),
    OpeningOf<OpenAiRealtimeProtocol>(),
};
constexpr std::array kByMessage = {
    MessageOf<RunnelProtocol>(&RunnelProtocol::PreparesHotwords),
    MessageOf<WenetProtocol>(),
    MessageOf<VoskProtocol>(&VoskProtocol::PreparesHotwords),
    MessageOf<SherpaProtocol>(),
};

constexpr std::string_view kTranscriptionsPath = "/v1/audio/transcriptions";  // OpenAI's
constexpr std::string_view kTranslationsPath = "/v1/audio/translations";      // OpenAI's
constexpr std::string_view kModelsPath = "/v1/models";

// How a path of a service ends, whatever a client has as its base URL: Azure's clients write
// "/openai/deployments/NAME/audio/transcriptions", Groq's "/openai/v1/audio/transcriptions".
struct PathEnd {
  std::string_view end;
  std::string_view path;  // that the server knows
};
constexpr std::array<PathEnd, 4> kPathEnds = {{{"/audio/transcriptions", kTranscriptionsPath},
                                               {"/audio/translations", kTranslationsPath},
                                               {"/realtime", OpenAiRealtimeProtocol::kPath},
                                               {DeepgramProtocol::kPath, DeepgramProtocol::kPath}}};
constexpr std::string_view kModels = "/models";  // and the name of one below it

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

constexpr std::array kRecordings = {
    ByPath{"/v1/recognize",  // Runnel's
           [](RecordingPost post, const TokenTable& tokens, const std::string& /*model_name*/) {
             return ReadRecognizeRequest(std::move(post), tokens);
           }},
    ByPath{kTranscriptionsPath,
           [](RecordingPost post, const TokenTable& tokens, const std::string& /*model_name*/) {
             return ReadTranscriptionRequest(post.content_type, std::move(post.body), tokens);
           }},
    ByPath{
        DeepgramProtocol::kPath,
        [](RecordingPost post, const TokenTable& tokens, const std::string& model_name) {
          return ReadListenRequest(post.query, std::move(post.body), tokens, {post.id, model_name});
        }},
};

// The list of models, and each model below it.
bool IsModelsPath(std::string_view path) {
  return path.substr(0, kModelsPath.size()) == kModelsPath &&
         (path.size() == kModelsPath.size() || path[kModelsPath.size()] == '/');
}

HttpReply AsItIs(HttpReply reply, const std::string& /*request_id*/) { return reply; }

// The first entry that fits counts.
const std::array<HttpDialect, 3>& HttpDialects() {
  static const std::array<HttpDialect, 3> dialects = {{
      {[](std::string_view path) {
         return path == DeepgramProtocol::kPath || path == DeepgramProtocol::kOtherPath;
       },
       {{"token"}, {"token", "bearer"}, {}, {}},
       "invalid_auth",
       &DeepgramReply},
      {[](std::string_view path) {
         return path == OpenAiRealtimeProtocol::kPath || path == kTranscriptionsPath ||
                path == kTranslationsPath || IsModelsPath(path);
       },
       {{}, {}, {"openai-insecure-api-key."}, {"api-key"}},
       "invalid_api_key",
       &AsItIs},
      // All others.
      {[](std::string_view /*path*/) { return true; },
       {},
       CodeName(ErrorCode::kUnauthorized),
       &AsItIs},
  }};
  return dialects;
}

}  // namespace

std::unique_ptr<Protocol> ChooseProtocol(const Opening& opening, const TokenTable& tokens) {
  for (const ByOpening& protocol : kByOpening) {
    if (protocol.is_for(opening)) return protocol.make(opening, tokens);
  }
  return nullptr;
}

bool FirstTakesLong(const ClientMessage& first) {
  if (!first.is_text) return first.bytes.size() > kShortAudioBytes;
  return first.bytes.size() > kShortTextBytes ||
         std::any_of(kByMessage.begin(), kByMessage.end(), [&](const ByMessage& known) {
           return known.prepares_hotwords != nullptr && known.prepares_hotwords(first.bytes);
         });
}

std::unique_ptr<Protocol> ReadFirstMessage(const ClientMessage& first, const TokenTable& tokens,
                                           std::vector<ClientRequest>* requests) {
  nlohmann::json json;
  ProtocolError error = {
      ErrorCode::kBadMessage,
      R"(the first message has none of "type" (Runnel), "signal" (WeNet) and "config" (Vosk))"};
  ClientMessage message = first;
  if (first.is_text) {
    try {
      json = ReadClientJson(first.bytes);
      message.json = &json;
    } catch (const ClientMistake& mistake) {
      error = {mistake.code(), mistake.what()};
    }
  }
  for (const ByMessage& known : kByMessage) {
    if (!known.recognizes(first, json)) continue;
    std::unique_ptr<Protocol> protocol = known.make(tokens);
    *requests = protocol->Read(message);
    return protocol;
  }
  requests->emplace_back(std::move(error));
  return nullptr;
}

std::string ServicePath(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  for (const PathEnd& known : kPathEnds) {
    if (EndsWith(path, known.end)) return std::string(known.path);
  }
  for (size_t models = path.find(kModels); models != std::string_view::npos;
       models = path.find(kModels, models + 1)) {
    const std::string_view name = path.substr(models + kModels.size());
    if (name.empty() || name.front() == '/') return std::string(kModelsPath).append(name);
  }
  return std::string(path);
}

std::vector<std::string> RecordingPaths() {
  std::vector<std::string> paths;
  for (const ByPath& known : kRecordings) paths.emplace_back(known.path);
  return paths;
}

bool TakesRecordings(std::string_view path) {
  return std::any_of(kRecordings.begin(), kRecordings.end(),
                     [path](const ByPath& known) { return known.path == path; });
}

RecordingRequest ReadRecording(RecordingPost post, const TokenTable& tokens,
                               const std::string& model_name) {
  for (const ByPath& known : kRecordings) {
    if (known.path == post.path) return known.read(std::move(post), tokens, model_name);
  }
  throw std::invalid_argument("no recordings are posted to " + post.path);
}

const HttpDialect& HttpDialectOf(std::string_view path) {
  return *std::find_if(HttpDialects().begin(), HttpDialects().end(),
                       [path](const HttpDialect& known) { return known.is_for(path); });
}

TokenPlaces AllTokenPlaces() {
  TokenPlaces all;
  const auto append = [](const std::vector<std::string>& from, std::vector<std::string>* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  for (const HttpDialect& known : HttpDialects()) {
    append(known.token_places.schemes, &all.schemes);
    append(known.token_places.names, &all.names);
    append(known.token_places.prefixes, &all.prefixes);
  }
  return all;
}

}  // namespace runnel::server
