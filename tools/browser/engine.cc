// The engine as a module of WebAssembly; engine.js calls these functions.
//
// A module has one model and one stream at a time. Functions that return text return messages of
// Runnel's protocol (docs/protocol.md), a line each. The text is valid until the next call. After a
// message "error" there is no stream.
#include <emscripten/emscripten.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/json/json_section.h"
#include "runtime/model.h"
#include "runtime/options/stream_options.h"
#include "runtime/stream.h"
#include "tools/cli/decimal.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/start_options.h"

namespace runnel::browser {
namespace {

using Clock = std::chrono::steady_clock;
using server::ErrorCode;

struct Engine {
  std::shared_ptr<const Model> model;
  std::optional<Stream> stream;
  server::ResultParts parts;   // that its user wants
  std::vector<float> samples;  // those that runnel_accept gives to the stream
  std::string messages;        // of the last call
};

Engine& TheEngine() {
  static Engine engine;
  return engine;
}

// The messages that `call` adds. An error becomes a message.
template <typename Call>
const char* Messages(ErrorCode code, const Call& call) {
  Engine& engine = TheEngine();
  engine.messages.clear();
  try {
    call(&engine);
  } catch (const std::exception& error) {
    engine.stream.reset();
    engine.messages += server::ErrorText({code, error.what()}) + '\n';
  }
  return engine.messages.c_str();
}

StreamOptions ReadStart(const std::string& text, const Model& model, server::ResultParts* parts) {
  const nlohmann::json json = nlohmann::json::parse(text);
  if (!json.is_object()) throw std::runtime_error("start: is not an object, expected one");
  JsonSection message(json, "", "start");
  message.Constant("type", "start");
  message.Integer("version", 1, 1);
  if (message.Has("encoding")) message.String("encoding");  // an array of samples has its own
  if (message.Has("resume")) message.Bool("resume");        // a stream ends with its page
  parts->tokens = !message.Has("tokens") || message.Bool("tokens");
  server::StartRequest start;
  server::ReadLiveOptions(&message, &start.options);
  server::ReadStartOptions(&message, model.tokens(), &start);
  message.CheckAllTaken();
  CompleteSearch(&start.options);
  const StreamOptions& options = start.options.values.stream;
  if (options.early_text.interval != 0) {
    message.Fail(message.Has("early_text") ? "early_text" : "early_text_interval",
                 "0: the engine of a web page makes no previews");
  }
  parts->max_results = static_cast<size_t>(options.nbest);
  return options;
}

void Start(const std::string& text, Engine* engine) {
  engine->stream.reset();
  const Model& model = *engine->model;
  engine->stream.emplace(engine->model, ReadStart(text, model, &engine->parts));
  const StreamOptions& options = engine->stream->options();
  engine->messages += JsonText({{"type", "ready"},
                                {"version", 1},
                                {"model", model.name()},
                                {"sample_rate", options.sample_rate_hz},
                                {"chunk_size", options.chunk_size},
                                {"left_context", options.left_context},
                                {"right_context", options.right_context},
                                {"frame_ms", Rounded(model.encoder_frame_ms())}}) +
                      '\n';
}

// Unlike a server's, it has the whole stable text: nothing is to be saved between a page and its
// worker.
std::string Partial(const Stream& stream, double latency_ms) {
  const std::string text = stream.Text();
  const size_t stable_size = stream.StableTextSize();
  const double audio_ms = stream.EndOfFramesMs(stream.num_encoder_frames());
  return JsonText({{"type", "partial"},
                   {"utterance", stream.utterance_index()},
                   {"stable_text", text.substr(0, stable_size)},
                   {"tentative_text", text.substr(stable_size)},
                   {"begins_word", stream.BeginsWord()},
                   {"stable_offset", 0},
                   {"audio_ms", Rounded(audio_ms)},
                   {"latency_ms", Rounded(latency_ms)}});
}

// Gives the stream what `give` gives, decodes it, and adds what is new. `waited_ms`: how long ago
// it was sent.
template <typename Give>
const char* Decode(double waited_ms, const Give& give) {
  const auto begin = Clock::now();
  return Messages(ErrorCode::kStreamFailed, [&](Engine* engine) {
    if (!engine->stream.has_value()) throw std::invalid_argument("there is no stream");
    Stream& stream = *engine->stream;
    const int64_t num_frames = stream.num_encoder_frames();
    give(&stream, engine->samples);
    stream.Decode();
    const double latency_ms =
        waited_ms + std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    for (Utterance& utterance : stream.TakeUtterances()) {
      const bool is_final = utterance.end == UtteranceEnd::kFinish;
      utterance.latency_ms = latency_ms;
      engine->messages += server::UtteranceMessage(is_final ? "final" : "utterance", utterance,
                                                   engine->parts, engine->model->tokens()) +
                          '\n';
    }
    if (stream.IsFinal()) {
      engine->stream.reset();
    } else if (stream.num_encoder_frames() > num_frames) {
      engine->messages += Partial(stream, latency_ms) + '\n';
    }
  });
}

}  // namespace
}  // namespace runnel::browser

extern "C" {

// Loads the model file at `path`. Its streams end.
EMSCRIPTEN_KEEPALIVE const char* runnel_load(const char* path) {
  using runnel::browser::Messages;
  return Messages(runnel::server::ErrorCode::kInternal, [path](runnel::browser::Engine* engine) {
    engine->stream.reset();
    engine->model.reset();
    engine->model = runnel::Model::Load(path);
  });
}

// Begins a stream, once a model is loaded. `message`: "start". The stream before it ends.
EMSCRIPTEN_KEEPALIVE const char* runnel_start(const char* message) {
  using runnel::browser::Messages;
  return Messages(runnel::server::ErrorCode::kBadOption,
                  [message](runnel::browser::Engine* engine) { Start(message, engine); });
}

// Where the caller writes the samples for runnel_accept, until the next call.
EMSCRIPTEN_KEEPALIVE float* runnel_samples(size_t count) {
  std::vector<float>& samples = runnel::browser::TheEngine().samples;
  samples.resize(count);
  return samples.data();
}

// Gives the stream the first `count` of these, which were sent `waited_ms` ago.
EMSCRIPTEN_KEEPALIVE const char* runnel_accept(size_t count, double waited_ms) {
  return runnel::browser::Decode(
      waited_ms, [count](runnel::Stream* stream, const std::vector<float>& samples) {
        stream->AcceptSamples(samples.data(), count);
      });
}

// The audio is complete.
EMSCRIPTEN_KEEPALIVE const char* runnel_finish(double waited_ms) {
  return runnel::browser::Decode(
      waited_ms,
      [](runnel::Stream* stream, const std::vector<float>& /*samples*/) { stream->Finish(); });
}

}  // extern "C"
