// load_client: runs many live streams at the same time, to measure the capacity of a server.
#include <gflags/gflags.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "platform/process.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/tool_main.h"
#include "tools/client/client_flags.h"
#include "tools/client/client_protocol.h"
#include "tools/client/connection.h"
#include "tools/client/event_loop.h"
#include "tools/client/load_run.h"
#include "tools/client/load_statistics.h"
#include "tools/decode/input/recording_list.h"

DEFINE_int64(streams, 250, "Streams at the same time.");
DEFINE_int64(rounds, 1, "Recordings that each stream sends, one after another.");
DEFINE_double(duration_s, 0, "Instead of --rounds: seconds during which new recordings start.");
DEFINE_double(turn_s, 0,
              "Mean seconds of audio after which a stream asks for the final text of its speech, "
              "again and again; 0: only at its end. With --protocol=runnel, deepgram and openai.");
DEFINE_double(ramp_s, 5, "Seconds over which the streams start, evenly spaced.");
DEFINE_string(expected, "",
              "File of 'id text' lines, as decode_wav writes them: every final text is compared.");
DEFINE_double(behind_s, 2,
              "Latency of a partial or final, in seconds, above which a stream has fallen behind.");
DEFINE_bool(json, false, "Write the report as a line of JSON.");

namespace runnel::client {
namespace {

constexpr char kUsage[] =
    R"(load_client runs many live streams against a server at the same time and reports latencies.

  load_client URL (FILE... | --wav_scp=list) [flags]

All recordings are read before the start. Every stream then sends its packets in real time, as a
microphone would. The client uses one thread, to take little CPU time from a server on the same
machine. The report on standard output counts the streams that were done, failed, were refused, fell
behind or ended with an unexpected text, and gives quantiles of these latencies:

  first partial  from the first packet sent to the first partial received
  chunk          from the packet with the last sample that a partial needs to the partial received
  end of speech  with --turn_s: from the message that asks for the final text of a turn (flush,
                 Finalize or commit) to that text received
  final          from the end of the audio to the final result received
  by the server  the same latency measured by the server, from audio received to result sent

With --turn_s, turns are half as long to one and a half times as long, as conversations have them.
The stream goes on after each. Turns cut the recordings, so --expected does not go with them.

If the rate of a recording differs from the model's, a partial needs about 50 ms more audio than
--look_ahead_ms, and "chunk" may be one packet too long; "chunk, by the server" is exact.

SIGINT or SIGTERM ends the run; the report then covers the run so far.

Exit code: 0 success; 1 a stream failed, was refused, fell behind or ended with an unexpected text, or
the run was interrupted; 2 wrong flags.

Examples:
  load_client ws://127.0.0.1:8080/ --wav_scp=wav.scp --streams=250 --duration_s=600
  load_client ws://127.0.0.1:8080/ --wav_scp=wav.scp --expected=texts --rounds=3 --json
  load_client ws://127.0.0.1:8080/ --wav_scp=wav.scp --turn_s=5 --protocol=deepgram
)";

constexpr int64_t kMaxStreams = 60000;  // an address has no more ports
constexpr double kStatusS = 1;
constexpr double kLeastTurnS = 0.5;  // half a turn has audio enough for a commit

void CheckFlags() {
  RequireRange("streams", FLAGS_streams, 1, kMaxStreams);
  RequireRange("rounds", FLAGS_rounds, 1, std::numeric_limits<int32_t>::max());
  RequireAtLeast("--duration_s", FLAGS_duration_s, 0, "s");
  RequireAtLeast("--ramp_s", FLAGS_ramp_s, 0, "s");
  RequireAtLeast("--behind_s", FLAGS_behind_s, 0, "s");
  if (FLAGS_duration_s > 0 && IsFlagGiven("rounds")) {
    throw std::invalid_argument("--rounds and --duration_s are both given, expected one of them");
  }
}

// Turns need answers that can be told apart, and a stream that is not repeated.
void CheckTurns(const SessionOptions& session) {
  if (FLAGS_turn_s == 0) return;
  RequireAtLeast("--turn_s", FLAGS_turn_s, kLeastTurnS, "s");
  if (MakeClientProtocol(session.protocol)->EndOfSpeechMessage().empty()) {
    throw std::invalid_argument("--turn_s needs --protocol=runnel, deepgram or openai, got " +
                                session.protocol);
  }
  if (!FLAGS_expected.empty() || session.resumes) {
    throw std::invalid_argument(std::string("--turn_s and --") +
                                (session.resumes ? "resume" : "expected") +
                                " are both given, expected one of them");
  }
}

// Lines of 'id text'; the text may be empty.
std::map<std::string, std::string> ReadTexts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot open");
  std::map<std::string, std::string> texts;
  for (std::string line; std::getline(file, line);) {
    const size_t id_end = std::min(line.find(' '), line.size());
    texts[line.substr(0, id_end)] = id_end == line.size() ? std::string() : line.substr(id_end + 1);
  }
  if (file.bad()) throw std::runtime_error(path + ": cannot read");
  return texts;
}

std::vector<LoadRecording> ReadRecordings(const SessionOptions& options, Console* console) {
  std::map<std::string, std::string> texts;
  if (!FLAGS_expected.empty()) texts = ReadTexts(FLAGS_expected);
  std::vector<LoadRecording> recordings;
  for (const Recording& recording : RecordingsFromFlags()) {
    LoadRecording read{recording.id, nullptr, {}};
    if (!FLAGS_expected.empty()) {
      const auto text = texts.find(recording.id);
      if (text == texts.end()) {
        throw std::runtime_error(FLAGS_expected + ": has no line for '" + recording.id + "'");
      }
      read.expected = text->second;
    }
    std::vector<std::string> warnings;
    read.track =
        ReadTrack(recording.path, SampleRateFromFlags(), options.start.encoding, &warnings);
    for (const std::string& warning : warnings) console->Info(warning);
    recordings.push_back(std::move(read));
  }
  return recordings;
}

// CPU time of this process so far.
double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

LoadOptions LoadOptionsFromFlags(const SessionOptions& session) {
  LoadOptions options;
  options.session = session;
  options.num_streams = FLAGS_streams;
  options.ramp_s = FLAGS_ramp_s;
  options.rounds = FLAGS_rounds;
  options.duration_s = FLAGS_duration_s;
  options.behind_s = FLAGS_behind_s;
  return options;
}

// The streams of a run, and what a terminal shows of them.
class Load {
 public:
  Load(const SessionOptions& session, const ConnectorOptions& connector_options,
       const std::vector<LoadRecording>& recordings, Console* console)
      : connector_(&loop_, connector_options),
        console_(console),
        status_timer_(&loop_, [this] { ShowStatus(); }),
        run_(&loop_, &connector_, LoadOptionsFromFlags(session), recordings, &statistics_,
             [this] { loop_.Stop(); }) {
    loop_.StopAtSignals();
    if (console_->is_terminal()) ShowStatus();
  }

  const LoadStatistics& Run() {
    loop_.Run();
    console_->SetStatus("");
    return statistics_;
  }
  bool was_interrupted() const { return loop_.was_interrupted(); }

 private:
  void ShowStatus() {
    console_->SetStatus(
        std::to_string(run_.num_active()) + " streams, " + std::to_string(statistics_.num_done) +
        " done, " + std::to_string(statistics_.num_failed + statistics_.num_refused) + " failed");
    status_timer_.SetAfter(kStatusS);
  }

  EventLoop loop_;
  Connector connector_;
  Console* const console_;
  LoadStatistics statistics_;
  Timer status_timer_;
  LoadRun run_;
};

int Run(Console* console) {
  CheckFlags();
  SessionOptions session = SessionOptionsFromFlags();
  CheckTurns(session);
  session.turn_s = FLAGS_turn_s;
  const ConnectorOptions connector_options = ConnectorOptionsFromFlags();
  const std::vector<LoadRecording> recordings = ReadRecordings(session, console);
  RaiseDescriptorLimit();
  const double cpu_before = CpuSeconds();
  const Clock::time_point begin = Clock::now();
  Load load(session, connector_options, recordings, console);
  const LoadStatistics& statistics = load.Run();
  const double wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
  const double cpu_s = CpuSeconds() - cpu_before;
  const std::string report =
      FLAGS_json ? LoadJson(statistics, wall_s, cpu_s) : LoadTable(statistics, wall_s, cpu_s);
  std::fputs(report.c_str(), stdout);
  if (load.was_interrupted()) throw std::runtime_error("interrupted before its end");
  return statistics.is_success() ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace runnel::client

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"load_client",
                    runnel::client::kUsage,
                    {{__FILE__}, runnel::client::kClientFlagsSource},
                    {"server", "wav", "wav_scp", "streams", "rounds", "duration_s", "json"},
                    {"server", "wav"},
                    {"wav"}},
                   runnel::client::Run);
}
