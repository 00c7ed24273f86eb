// decode_wav: recognises the speech in recordings, chunk by chunk as a live stream does.
#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/process.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/output_check.h"
#include "tools/cli/run_in_threads.h"
#include "tools/cli/stream_flags.h"
#include "tools/cli/tool_main.h"
#include "tools/decode/decode_recordings.h"
#include "tools/decode/finished_results.h"
#include "tools/decode/formats/output_format.h"
#include "tools/decode/input/recording_list.h"
#include "tools/decode/input/shard.h"
#include "tools/decode/progress.h"

DEFINE_string(wav, "", "Audio files, separated by commas; -: standard input.");
DEFINE_string(
    wav_scp, "",
    "List of audio files, one 'id path' per line; paths are relative to the current folder.");
DEFINE_string(features, "",
              "NumPy files with feature frames of the model, (frames, bins), separated by commas, "
              "instead of audio.");
DEFINE_string(format, "text",
              "text: 'id text' per line (with --nbest=N: 'id-1 text', 'id-2 text', ...); json: an "
              "object per line, with scores, tokens and words; ctm: 'id 1 start duration word "
              "confidence' per word, in seconds. With --endpointing text is a line per utterance "
              "('id-0001 text'), json has its utterances in 'segments', and srt or vtt are the "
              "captions of one recording.");
DEFINE_bool(join_segments, false,
            "With --endpointing and --format=text: one line per recording, 'id text text ...'.");
DEFINE_string(output, "",
              "File for the results; empty or -: standard output. {shard} in its name becomes e.g. "
              "3-of-10.");
DEFINE_bool(
    resume, false,
    "Resume an interrupted run: keep the results in --output and decode only the missing ones. "
    "The other flags must be those of the interrupted run.");
DEFINE_string(
    shard, "",
    "i/n: decode only the i-th of n parts, every n-th recording. Default: all (1/1); in a "
    "task of a Slurm array and with --wav_scp, the part of the task.");
DEFINE_bool(partial, false, "Print partial results to standard error whenever they change.");
DEFINE_bool(quiet, false,
            "Print results, warnings and errors only: no model, progress, statistics.");
DEFINE_int32(
    batch_streams, 1,
    "Recordings that each thread decodes at the same time; each is an open file (ulimit -n).");
DEFINE_int32(num_threads, 0,
             "Worker threads; each decodes its own batch of recordings. 0: one per core.");

namespace runnel {
namespace {

StreamFlags stream_flags(OptionUser::kDecodeWav);

constexpr char kUsage[] =
    R"(decode_wav recognises speech in audio files, chunk by chunk, and writes the text.

  decode_wav MODEL (FILE... | --wav_scp=list) [flags]

It reads WAV, FLAC, MP3, MP4, M4A, WebM, Ogg, AAC, AMR and the other formats of libsndfile, at any
sample rate from 1 kHz. Results are written in the order of the input; logs and a summary go to
standard error. A file that cannot be decoded is reported there and left out of the results. A file
that was cut off is decoded as far as it goes, and reported there if its header has the length. A
FLAC or CAF file that was cut off cannot be decoded.
The first Ctrl-C while standard input is read ends the audio, the second one the program. A killed
run that is resumed with --resume gives the same output file as an uninterrupted one. With
--endpointing the utterances of a recording are written as soon as they end; memory does not grow
with its length. Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  decode_wav models/digits/digits.pt a.wav b.flac
  decode_wav models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp --partial
  arecord -q -f S16_LE -r 16000 | decode_wav models/digits/digits.pt - --partial
  decode_wav models/digits/digits.pt --wav_scp=wav.scp --search=beam --nbest=5 --format=json
  decode_wav models/digits/digits.pt a.wav --word_list=models/digits/words.txt
  decode_wav M.pt --wav_scp=wav.scp --hotwords=names.txt --language_model=3gram.bin
  decode_wav models/digits/digits.pt --wav_scp=wav.scp --chunk_size=4 --left_context=-1
  decode_wav models/digits/digits.pt --wav_scp=wav.scp --batch_streams=16 --num_threads=4
  decode_wav models/digits/digits.pt --wav_scp=wav.scp --shard=3/10 --output={shard}.txt --resume
  decode_wav models/digits/digits.pt long.wav --endpointing --format=srt --output=long.srt
)";

// A process does not have the memory for more streams.
constexpr int kMaxBatchStreams = 65536;

// Descriptors for standard streams, the output and libraries.
constexpr int64_t kOtherDescriptors = 16;

void CheckFlags() {
  RequireFlag("model", kModelFile);
  if (FLAGS_features.empty()) {
    RequireEither("wav", "wav_scp");
  } else if (!FLAGS_wav.empty() || !FLAGS_wav_scp.empty()) {
    throw std::invalid_argument("--features takes the place of --wav and --wav_scp");
  }
  RequireRange("batch_streams", FLAGS_batch_streams, 1, kMaxBatchStreams);
  RequireRange("num_threads", FLAGS_num_threads, 0, kMaxThreads);
}

// Worker threads: by default one per core, fewer if this process may not have so many files open.
// Throws std::invalid_argument when those of the flags need more: recordings would fail.
int NumThreads(size_t num_recordings) {
  const int64_t allowed = RaiseDescriptorLimit();
  const int64_t most = std::max<int64_t>(allowed - kOtherDescriptors, 0);
  int64_t num_threads = ThreadsOrCores(FLAGS_num_threads);
  if (FLAGS_num_threads == 0) {
    num_threads = std::clamp<int64_t>(most / FLAGS_batch_streams, 1, num_threads);
  }
  const int64_t at_once = FLAGS_batch_streams * num_threads;
  if (std::min(at_once, static_cast<int64_t>(num_recordings)) <= most) {
    return static_cast<int>(num_threads);
  }
  throw std::invalid_argument("--batch_streams times --num_threads is " + std::to_string(at_once) +
                              ", expected at most " + std::to_string(most) +
                              ": this process may have " + std::to_string(allowed) +
                              " files open (ulimit -n)");
}

OutputFormat OutputFormatFromFlags(bool has_endpoints) {
  if (FLAGS_join_segments && !has_endpoints) {
    throw std::invalid_argument("--join_segments needs --endpointing");
  }
  const OutputFormat format =
      has_endpoints ? ParseUtteranceFormat(FLAGS_format) : ParseOutputFormat(FLAGS_format);
  if (!FLAGS_join_segments) return format;
  if (format == OutputFormat::kUtteranceText) return OutputFormat::kJoinedText;
  throw std::invalid_argument("--join_segments needs --format=text, got --format=" + FLAGS_format);
}

void CheckNBest(int nbest, OutputFormat format) {
  const bool has_nbest = format == OutputFormat::kText || format == OutputFormat::kUtteranceText ||
                         format == OutputFormat::kJson || format == OutputFormat::kUtteranceJson;
  if (has_nbest || nbest == 1) return;
  const bool is_captions = format == OutputFormat::kSrt || format == OutputFormat::kVtt;
  throw std::invalid_argument(
      (FLAGS_join_segments ? "--join_segments" : "--format=" + FLAGS_format) +
      (is_captions ? " holds one hypothesis per utterance"
                   : " holds one hypothesis per recording") +
      ", --nbest is " + std::to_string(nbest));
}

void CheckResume(int nbest, OutputFormat format) {
  if (!FLAGS_resume) return;
  if (FLAGS_output.empty() || FLAGS_output == "-") {
    throw std::invalid_argument("--resume needs --output=FILE, whose results it keeps");
  }
  if (format == OutputFormat::kText && nbest > 1) {
    throw std::invalid_argument("--resume with --nbest=" + std::to_string(nbest) +
                                " needs --format=json, one line per recording");
  }
  if (format == OutputFormat::kUtteranceText || format == OutputFormat::kSrt ||
      format == OutputFormat::kVtt) {
    throw std::invalid_argument(
        "--resume with --endpointing needs --format=json, --format=ctm or --join_segments");
  }
}

Shard ShardFromFlags(Console* console) {
  if (IsFlagGiven("shard")) return ParseShard(FLAGS_shard);
  // The files of --wav are decoded by every task that names them.
  if (FLAGS_wav_scp.empty()) return {};
  const std::optional<Shard> shard =
      ShardFromSlurm([](const char* name) { return std::getenv(name); });
  if (!shard) return {};
  const bool is_file = !FLAGS_output.empty() && FLAGS_output != "-";
  if (shard->count > 1 && is_file && FLAGS_output.find(kShardPlaceholder) == std::string::npos) {
    throw std::invalid_argument(
        "--output is " + FLAGS_output +
        ", which every task of this Slurm array would write, expected {shard} in it");
  }
  if (!FLAGS_quiet)
    console->Info("shard " + shard->Name() + " by this Slurm array (--shard=1/1 decodes all)");
  return *shard;
}

std::string Milliseconds(double value) { return Decimal(value, 2) + " ms"; }

// `longest_whole_s`: of the recordings that are decoded as whole utterances.
std::string Describe(const StreamOptions& options, std::optional<double> longest_whole_s,
                     const Model& model) {
  const std::string chunk = options.chunk_size == StreamOptions::kWholeUtterance
                                ? "the whole utterance at once"
                                : "chunks of " + std::to_string(options.chunk_size) +
                                      " encoder frames of " +
                                      Milliseconds(model.encoder_frame_ms());
  return "model " + model.name() + ", " + chunk + ", left context " +
         (options.left_context == StreamOptions::kUnlimited
              ? "unlimited"
              : std::to_string(options.left_context)) +
         (options.right_context == StreamOptions::kNoRightContext
              ? ""
              : ", right context " + std::to_string(options.right_context)) +
         (options.cached_windows ? ", cached windows" : "") +
         (longest_whole_s.has_value() ? ", files of up to " + Decimal(*longest_whole_s, 0) +
                                            " s at once (--chunk_size=-1: all)"
                                      : "") +
         "; " + model.ComputeDescription();
}

// All options but those read with the model's tokens: word list, hotwords, language model.
DecodeOptions DecodeOptionsFromFlags(const StreamOptions& stream, const Shard& shard) {
  DecodeOptions options;
  options.batch.stream = stream;
  options.batch.batch_streams = FLAGS_batch_streams;
  options.batch.audio = AudioOptionsFromFlags();
  options.batch.input = FLAGS_features.empty() ? InputKind::kAudio : InputKind::kFeatures;
  options.report.has_endpoints = options.batch.stream.endpoints.enabled;
  options.report.format = OutputFormatFromFlags(options.report.has_endpoints);
  options.report.nbest = stream.nbest;
  options.report.prints_partials = FLAGS_partial;
  CheckNBest(stream.nbest, options.report.format);
  CheckResume(stream.nbest, options.report.format);
  options.output = FileNameOfShard(FLAGS_output, shard);
  options.keeps_output = FLAGS_resume;
  return options;
}

void CheckOutput(const std::string& output, const std::vector<Recording>& recordings) {
  std::vector<std::string> inputs = ModelInputFiles();
  inputs.push_back(FLAGS_wav_scp);
  for (const std::string& path : stream_flags.InputFiles()) inputs.push_back(path);
  for (const Recording& recording : recordings) inputs.push_back(recording.path);
  CheckOutputIsNoInput(output, inputs);
  CheckOutputCanBeWritten(output);
}

// A file of captions has no ids.
void CheckCaptions(OutputFormat format, size_t num_recordings) {
  const bool is_captions = format == OutputFormat::kSrt || format == OutputFormat::kVtt;
  if (!is_captions || num_recordings <= 1) return;
  throw std::invalid_argument("--format=" + FLAGS_format +
                              " holds the captions of one recording, " +
                              std::to_string(num_recordings) + " are given");
}

// An unfinished line on the terminal, such as a JSON object whose utterances are still coming,
// would be overwritten by the bar.
bool ShowsBar(const DecodeOptions& options) {
  if (FLAGS_partial || FLAGS_quiet) return false;
  const bool is_standard_output = options.output.empty() || options.output == "-";
  return !(options.report.has_endpoints && is_standard_output && IsTerminal(STDOUT_FILENO));
}

FinishedResults ReadFinishedResults(const DecodeOptions& options,
                                    const std::vector<Recording>& recordings, Console* console) {
  if (!FLAGS_resume) return FinishedResults();
  FinishedResults finished(options.output, options.report.format, recordings);
  if (!FLAGS_quiet) {
    console->Info(options.output + ": " + std::to_string(finished.num_finished()) + " of " +
                  std::to_string(recordings.size()) + " recordings are finished");
  }
  return finished;
}

std::vector<Recording> RecordingsFromFlags() {
  if (!FLAGS_wav_scp.empty()) return ReadRecordingList(FLAGS_wav_scp);
  return RecordingsFromPaths(FilesOf(FLAGS_features.empty() ? "wav" : "features"));
}

int Run(Console* console) {
  CheckFlags();
  const Shard shard = ShardFromFlags(console);
  OptionValues values = stream_flags.Read().values;
  DecodeOptions options = DecodeOptionsFromFlags(values.stream, shard);
  const std::vector<Recording> recordings = SelectShard(RecordingsFromFlags(), shard);
  options.num_threads = NumThreads(recordings.size());
  CheckCaptions(options.report.format, recordings.size());
  CheckOutput(options.output, recordings);
  const FinishedResults finished = ReadFinishedResults(options, recordings, console);

  if (HasStandardInput(recordings)) OutliveFirstInterrupt();
  const std::shared_ptr<const Model> model = LoadModel();
  stream_flags.ReadFiles(model->tokens(), &values);
  options.batch.stream = values.stream;
  // Reports options that this model cannot serve before anything is decoded.
  const std::string setting = Describe(Stream(model, options.batch.stream).options(),
                                       LongestWholeS(*model, options.batch.stream), *model);
  if (!FLAGS_quiet) console->Info(setting);

  Progress progress(recordings.size() - finished.num_finished(), ShowsBar(options), console);
  const LatencyHistogram latency =
      DecodeRecordings(model, recordings, finished, options, &progress, console);
  console->SetStatus("");
  const bool has_failed = progress.num_failed() > 0;
  const bool has_decoded = latency.count() > 0;
  // Where nothing was decoded, the errors have said all.
  if (!FLAGS_quiet && (has_decoded || !has_failed)) console->Info(progress.Summary());
  if (!FLAGS_quiet && has_decoded) {
    console->Info("chunk latency p50 " + Milliseconds(latency.QuantileMs(0.50)) + ", p95 " +
                  Milliseconds(latency.QuantileMs(0.95)) + ", p99 " +
                  Milliseconds(latency.QuantileMs(0.99)) + " (" + std::to_string(latency.count()) +
                  " chunks)");
  }
  return has_failed ? kExitFailure : kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"decode_wav",
                    runnel::kUsage,
                    {{__FILE__},
                     runnel::kAudioFlagsSource,
                     runnel::kModelFlagsSource,
                     runnel::kStreamFlagsSource},
                    {"model", "wav", "wav_scp", "format", "output", "partial", "quiet", "precision",
                     "num_threads", "endpointing", "search", "hotwords"},
                    {"model", "wav"},
                    {"wav", "features"}},
                   runnel::Run);
}
