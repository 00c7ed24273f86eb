#include "tools/client/client_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/token_file.h"
#include "tools/client/client_protocol.h"
#include "tools/client/packet_encoder.h"
#include "tools/client/server_url.h"

DEFINE_string(
    server, "",
    "ws://host:port/ or wss://host:port/. Several are separated by commas: --resume goes on "
    "to the next when a connection is lost.");
DEFINE_string(protocol, "runnel",
              "runnel, deepgram, openai (Realtime), wenet, or sherpa (sherpa-onnx's online "
              "server), as in docs/protocol.md.");
DEFINE_string(wav, "", "Audio files, separated by commas.");
DEFINE_string(
    wav_scp, "",
    "List of audio files, one 'id path' per line; paths are relative to the current folder.");
DEFINE_int32(
    sample_rate, -1,
    "Rate in Hz at which the audio is sent. 0: each recording's own, or the next one that Opus "
    "has; -1: 0, but 16000 with --protocol=wenet or sherpa, which announce no rate.");
DEFINE_string(
    encoding, "",
    "pcm16, float32, mulaw, alaw or opus. Empty: float32 with --protocol=sherpa, otherwise "
    "pcm16. Only --protocol=runnel has a choice.");
DEFINE_int64(chunk_size, -2,
             "Encoder frames that the server decodes at a time; -2: as its model recommends. Only "
             "with --protocol=runnel.");
DEFINE_int64(left_context, -2,
             "Encoder frames before a chunk that it attends to; -1: all; -2: as the model "
             "recommends. Only with --protocol=runnel.");
DEFINE_int64(
    right_context, -2,
    "Encoder frames after a chunk, with which an offline model computes it anew in a window; "
    "-1: none; -2: as the server decides. Only with --protocol=runnel.");
DEFINE_bool(cached_windows, false,
            "Of windows: compute the left context once, and not anew in each window. Only with "
            "--protocol=runnel.");
DEFINE_string(options, "",
              "More fields of the start message of Runnel's protocol, as a JSON object: "
              R"({"head":"ctc","search":"beam","language":"en-US"}. )"
              "docs/protocol.md lists them. They replace those of other flags.");
DEFINE_double(packet_ms, 100,
              "Audio in one message, in milliseconds. With --encoding=opus it is always 20.");
DEFINE_double(
    speed, 1,
    "Speed at which audio is sent, relative to real time; 0: as fast as the server accepts "
    "it.");
DEFINE_bool(resume, false,
            "When a connection is lost or refused, connect again, resume from the last snapshot if "
            "there is one, and send the audio that follows it.");
DEFINE_double(
    retry_s, 60,
    "With --resume: seconds without progress in the audio after which the stream has failed.");
DEFINE_double(
    timeout_s, 30,
    "Seconds that a server may take to accept a connection, to answer, or to stay silent.");
DEFINE_double(
    look_ahead_ms, 45,
    "For latencies: audio after a partial's audio_ms that its chunk needs, unless the server "
    "reports it.");
DEFINE_string(bearer_token_file, "",
              "File whose first line is sent as 'Authorization: Bearer ...'.");
DEFINE_string(bearer_token, "",
              "The token itself; other users of this machine can see it while the tool runs.");
DEFINE_string(ca_file, "",
              "wss: PEM file of certificates to trust instead of the system's authorities.");
DEFINE_bool(insecure, false, "wss: trust any certificate.");

namespace runnel::client {
namespace {

constexpr int kMaxSampleRateHz = 10'000'000;
constexpr int kUsualSampleRateHz = 16000;
constexpr int64_t kAsModelRecommends = -2;

SampleEncoding EncodingFromFlags() {
  const SampleEncoding usual = UsualEncoding(FLAGS_protocol);
  if (FLAGS_encoding.empty()) return usual;
  const auto* const encoding =
      std::find_if(kSampleEncodings.begin(), kSampleEncodings.end(),
                   [](SampleEncoding one) { return FLAGS_encoding == NameOf(one); });
  if (encoding == kSampleEncodings.end()) {
    throw std::invalid_argument("--encoding is '" + FLAGS_encoding +
                                "', expected pcm16, float32, mulaw, alaw or opus");
  }
  if (FLAGS_protocol != "runnel" && *encoding != usual) {
    throw std::invalid_argument("--encoding=" + FLAGS_encoding + " needs --protocol=runnel, got " +
                                FLAGS_protocol);
  }
  return *encoding;
}

void RequireRunnelProtocol(const char* flag) {
  if (FLAGS_protocol == "runnel") return;
  throw std::invalid_argument(std::string("--") + flag + " needs --protocol=runnel, got " +
                              FLAGS_protocol);
}

// Every Opus packet is one message, so its duration is not that of --packet_ms.
double PacketMsFromFlag(SampleEncoding encoding) {
  RequireAtLeast("--packet_ms", FLAGS_packet_ms, 0.01, "ms");
  if (encoding != SampleEncoding::kOpus) return FLAGS_packet_ms;
  if (IsFlagGiven("packet_ms") && FLAGS_packet_ms != kOpusPacketMs) {
    throw std::invalid_argument("--packet_ms is " + Decimal(FLAGS_packet_ms, 3) + ", expected " +
                                Decimal(kOpusPacketMs, 0) + " with --encoding=opus");
  }
  return kOpusPacketMs;
}

std::optional<int64_t> StreamOptionFromFlag(const char* name, int64_t value) {
  if (value == kAsModelRecommends) return std::nullopt;
  RequireRunnelProtocol(name);
  return value;
}

// --options, if it is an object without the fields on which the client itself depends.
std::string FieldsFromFlag() {
  if (FLAGS_options.empty()) return "";
  RequireRunnelProtocol("options");
  const nlohmann::json fields =
      nlohmann::json::parse(FLAGS_options, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object()) {
    throw std::invalid_argument("--options is '" + FLAGS_options +
                                R"(', expected a JSON object such as {"head":"ctc"})");
  }
  constexpr std::array kOwn = {"type", "version", "sample_rate", "encoding", "resume"};
  for (const char* const name : kOwn) {
    if (fields.contains(name)) {
      throw std::invalid_argument(std::string("--options has the field '") + name +
                                  "', which stream_client and load_client set themselves");
    }
  }
  return fields.dump();
}

}  // namespace

const FlagSource kClientFlagsSource = {__FILE__, "Flags of the connection"};

ConnectorOptions ConnectorOptionsFromFlags() {
  RequireAtLeast("--timeout_s", FLAGS_timeout_s, 0.01, "s");
  if (FLAGS_insecure && !FLAGS_ca_file.empty()) {
    throw std::invalid_argument("--insecure and --ca_file are both given, expected one of them");
  }
  if (!FLAGS_bearer_token.empty() && !FLAGS_bearer_token_file.empty()) {
    throw std::invalid_argument(
        "--bearer_token and --bearer_token_file are both given, expected one of them");
  }
  return {FLAGS_insecure, FLAGS_ca_file,
          FLAGS_bearer_token_file.empty() ? FLAGS_bearer_token : ReadToken(FLAGS_bearer_token_file),
          FLAGS_timeout_s};
}

SessionOptions SessionOptionsFromFlags() {
  RequireFlag("server", "a URL such as ws://127.0.0.1:8080/");
  MakeClientProtocol(FLAGS_protocol);  // checks the name
  RequireAtLeast("--speed", FLAGS_speed, 0);
  RequireAtLeast("--retry_s", FLAGS_retry_s, 0, "s");
  RequireAtLeast("--look_ahead_ms", FLAGS_look_ahead_ms, 0, "ms");
  if (FLAGS_resume) RequireRunnelProtocol("resume");
  SessionOptions options;
  options.servers = ParseServerUrls(FLAGS_server);
  options.protocol = FLAGS_protocol;
  options.start.encoding = EncodingFromFlags();
  options.start.chunk_size = StreamOptionFromFlag("chunk_size", FLAGS_chunk_size);
  options.start.left_context = StreamOptionFromFlag("left_context", FLAGS_left_context);
  options.start.right_context = StreamOptionFromFlag("right_context", FLAGS_right_context);
  if (FLAGS_cached_windows) RequireRunnelProtocol("cached_windows");
  options.start.cached_windows = FLAGS_cached_windows;
  options.start.fields = FieldsFromFlag();
  options.speed = FLAGS_speed;
  options.packet_ms = PacketMsFromFlag(options.start.encoding);
  options.resumes = FLAGS_resume;
  options.retry_s = FLAGS_retry_s;
  options.timeout_s = FLAGS_timeout_s;
  options.look_ahead_ms = FLAGS_look_ahead_ms;
  return options;
}

std::vector<Recording> RecordingsFromFlags() {
  RequireEither("wav", "wav_scp");
  return FLAGS_wav.empty() ? ReadRecordingList(FLAGS_wav_scp) : RecordingsFromPaths(FilesOf("wav"));
}

int SampleRateFromFlags() {
  RequireRange("sample_rate", FLAGS_sample_rate, -1, kMaxSampleRateHz);
  if (FLAGS_sample_rate > 0 && EncodingFromFlags() == SampleEncoding::kOpus &&
      !IsOpusRate(FLAGS_sample_rate)) {
    throw std::invalid_argument("--sample_rate is " + std::to_string(FLAGS_sample_rate) +
                                ", expected " + kOpusRatesText + " with --encoding=opus");
  }
  if (FLAGS_sample_rate >= 0) return FLAGS_sample_rate;
  return MakeClientProtocol(FLAGS_protocol)->announces_rate() ? 0 : kUsualSampleRateHz;
}

}  // namespace runnel::client
