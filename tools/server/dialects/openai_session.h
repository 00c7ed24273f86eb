// The settings of an OpenAI realtime session, and the stream that they ask for.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_SESSION_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_SESSION_H_

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/token_table.h"
#include "tools/cli/sample_encoding.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// A client's event is wrong. The client is told, and the session goes on. Thrown within the
// protocol, never out of Protocol's methods.
class EventMistake : public std::runtime_error {
 public:
  // `code`: of OpenAI's interface. `param`: the path of the field; "" for none.
  EventMistake(std::string code, std::string param, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)), param_(std::move(param)) {}
  const std::string& code() const { return code_; }
  const std::string& param() const { return param_; }

 private:
  std::string code_;
  std::string param_;
};

// The two forms of the interface.
enum class OpenAiShape {
  kGeneral,  // fields in session.audio.input
  kBeta      // fields in the session itself, with other names
};

// A value; copies are independent.
class OpenAiSession {
 public:
  // `id`: of the connection. `model`: that the URL names, "" for none.
  OpenAiSession(OpenAiShape shape, const std::string& id, const std::string& model);

  OpenAiShape shape() const { return shape_; }
  void set_shape(OpenAiShape shape) { shape_ = shape; }

  // Applies the fields of a client's "session", in either shape; fields that it does not know are
  // passed over and not kept. Throws EventMistake, and then has changed some of the fields.
  void Apply(const nlohmann::json& session);

  // All settings, in the session's shape.
  OrderedJson AsJson() const;

  SampleEncoding encoding() const;
  int sample_rate_hz() const;
  // Whether the server ends utterances; false: the client does.
  bool has_turn_detection() const { return !turn_detection_.is_null(); }
  // How long before its first token speech begins.
  double prefix_padding_ms() const;

  // The stream of the session. Keywords that `tokens` cannot spell are left out.
  StartRequest MakeStart(const TokenTable& tokens) const;
  // Whether MakeStart makes the same of `other`.
  bool HasStreamOf(const OpenAiSession& other) const;

 private:
  void SetFormat(const nlohmann::json& format, const std::string& path);
  void SetTranscription(const nlohmann::json& transcription, const std::string& path);
  void SetTurnDetection(const nlohmann::json& detection, const std::string& path);
  void SetNoiseReduction(const nlohmann::json& reduction, const std::string& path);
  double SilenceMs() const;

  OpenAiShape shape_;
  std::string id_;
  // As in the general shape; null where it may be.
  OrderedJson format_;
  OrderedJson transcription_;
  OrderedJson turn_detection_;
  OrderedJson noise_reduction_;
  OrderedJson include_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_SESSION_H_
