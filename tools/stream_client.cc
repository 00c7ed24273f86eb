// stream_client: sends recordings to a server in real time and prints the results.
#include <gflags/gflags.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/process.h"
#include "tools/cli/tool_main.h"
#include "tools/client/client_flags.h"
#include "tools/client/connection.h"
#include "tools/client/event_loop.h"
#include "tools/client/session.h"
#include "tools/client/track_reader.h"
#include "tools/decode/formats/lines.h"
#include "tools/decode/input/recording_list.h"
#include "tools/decode/ordered_output.h"

DEFINE_bool(partial, false, "Print partial results to standard error whenever they change.");
DEFINE_bool(endpointing, false,
            "Let the server end an utterance in silence, and print each as it comes.");

namespace runnel::client {
namespace {

constexpr char kUsage[] =
    R"(stream_client sends recordings to a streaming server, one after another, and prints the text.

  stream_client URL (FILE... | --wav_scp=list) [flags]

It reads the same recordings as decode_wav and sends them in packets, in real time as a microphone
would, or as fast as the server accepts them (--speed=0). Standard output receives 'id text' per
recording, standard error everything else. A recording that fails is reported there and left out of
the results. Exit code: 0 success, 1 something failed, 2 wrong flags.

With --endpointing the server ends an utterance in silence. Standard output then receives a line
'id-0001 text' per utterance, as decode_wav writes it, as soon as it has ended.

With --resume the client requests snapshots and reconnects after a lost connection, to the next of
the given servers. The text is the same as without the interruption.

Examples:
  stream_client ws://127.0.0.1:8080/ a.wav --partial
  stream_client ws://127.0.0.1:8080/ --wav_scp=wav.scp --speed=0
  stream_client ws://127.0.0.1:8080/ meeting.flac --endpointing
  stream_client wss://asr.example.org/ a.wav --bearer_token_file=token
  stream_client ws://a:8080/,ws://b:8080/ long.flac --resume
  stream_client ws://127.0.0.1:8080/ a.wav --options='{"head":"ctc"}'
  stream_client ws://127.0.0.1:8080/ a.wav --protocol=deepgram
  stream_client ws://127.0.0.1:8080/ a.wav --encoding=opus
  arecord -q -f S16_LE -r 16000 | stream_client ws://127.0.0.1:8080/ - --partial
)";

// Writes lines in the order of the calls.
class Lines {
 public:
  void Put(const std::string& line) { output_.Put(num_lines_++, line); }
  void Close() { output_.Close(); }

 private:
  OrderedOutput output_{""};
  size_t num_lines_ = 0;
};

// Sends one recording, receives its result and writes it.
class Transcription : public SessionListener {
 public:
  // Throws as AudioSource does.
  Transcription(EventLoop* loop, Connector* connector, const SessionOptions& options,
                const Recording& recording, Lines* output, Console* console)
      : recording_(recording),
        output_(output),
        console_(console),
        reader_(
            loop, recording.path, SampleRateFromFlags(), options.start.encoding, options.packet_ms,
            [this] { session_->OnMoreAudio(); },
            [this](const std::string& message) { FailToRead(message); }),
        session_(std::make_unique<Session>(loop, connector, options, reader_.track(), this)) {}

  // Valid after the loop's Run.
  bool has_succeeded() const { return has_succeeded_; }

 private:
  void OnPartial(const std::string& text, const PartialTiming& /*timing*/) override {
    if (!FLAGS_partial || text == partial_text_) return;
    partial_text_ = text;
    console_->Print(Id() + " partial: " + text);
  }

  void OnUtterance(const std::string& text) override {
    if (!FLAGS_endpointing) return;
    if (!text.empty()) {
      has_written_ = true;
      output_->Put(TextLine(Id(), text));
    }
    ++num_utterances_;
  }

  void OnRetry(const std::string& message) override {
    console_->Info(recording_.id + ": trying again: " + message);
  }

  void OnEnd(const SessionResult& result) override {
    for (const std::string& warning : reader_.warnings()) console_->Info(warning);
    if (result.is_success) {
      has_succeeded_ = true;
      if (!has_written_) output_->Put(TextLine(recording_.id, result.text));
    } else {
      console_->Error(recording_.id + ": " + result.message);
    }
  }

  // Of the recording, or of the utterance that is spoken.
  std::string Id() const {
    return FLAGS_endpointing ? UtteranceId(recording_.id, num_utterances_) : recording_.id;
  }

  void FailToRead(const std::string& message) {
    console_->Error(message);
    session_->Vanish();
  }

  const Recording recording_;
  Lines* const output_;
  Console* const console_;
  std::string partial_text_;
  bool has_written_ = false;    // utterances
  int64_t num_utterances_ = 0;  // that have ended; with --endpointing
  bool has_succeeded_ = false;
  TrackReader reader_;
  std::unique_ptr<Session> session_;
};

// False when it failed, after the reason was printed.
bool Transcribe(const SessionOptions& options, const ConnectorOptions& connector_options,
                const Recording& recording, Lines* output, Console* console) {
  EventLoop loop;
  Connector connector(&loop, connector_options);
  std::unique_ptr<Transcription> transcription;
  try {
    transcription =
        std::make_unique<Transcription>(&loop, &connector, options, recording, output, console);
  } catch (const std::exception& error) {
    console->Error(error.what());
    return false;
  }
  loop.Run();
  return transcription->has_succeeded();
}

int Run(Console* console) {
  SessionOptions options = SessionOptionsFromFlags();
  options.start.endpointing = FLAGS_endpointing;
  if (FLAGS_endpointing && options.protocol == "openai") {
    throw std::invalid_argument(
        "--endpointing needs another protocol than openai, in which the client ends utterances");
  }
  const ConnectorOptions connector_options = ConnectorOptionsFromFlags();
  SampleRateFromFlags();
  const std::vector<Recording> recordings = RecordingsFromFlags();
  if (HasStandardInput(recordings)) OutliveFirstInterrupt();
  {
    EventLoop loop;
    Connector(&loop, connector_options);  // reports unreadable certificates once, not per recording
  }
  Lines output;
  bool has_failed = false;
  for (const Recording& recording : recordings) {
    has_failed |= !Transcribe(options, connector_options, recording, &output, console);
  }
  output.Close();
  return has_failed ? kExitFailure : kExitSuccess;
}

}  // namespace
}  // namespace runnel::client

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"stream_client",
                    runnel::client::kUsage,
                    {{__FILE__}, runnel::client::kClientFlagsSource},
                    {"server", "wav", "wav_scp", "partial", "endpointing", "protocol", "speed"},
                    {"server", "wav"},
                    {"wav"}},
                   runnel::client::Run);
}
