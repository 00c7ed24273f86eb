// decode_wav: recordings in, text out, decoded chunk by chunk as a live stream would be.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/lexicon.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/threads.h"
#include "tools/command_line.h"
#include "tools/decimal.h"
#include "tools/decode_listener.h"
#include "tools/decoder_pool.h"
#include "tools/descriptor_limit.h"
#include "tools/finished_results.h"
#include "tools/first_interrupt.h"
#include "tools/model_flags.h"
#include "tools/ordered_output.h"
#include "tools/output_check.h"
#include "tools/output_format.h"
#include "tools/progress.h"
#include "tools/recording_list.h"
#include "tools/shard.h"
#include "tools/tool_main.h"

DEFINE_string(wav, "", "Audio files, separated by commas; - is standard input.");
DEFINE_string(
    wav_scp, "",
    "List of audio files, one 'id path' per line; paths are relative to the current folder.");
DEFINE_int32(channel, -1, "Audio channel to decode, counted from 0; -1: the mean of all.");
DEFINE_int64(
    chunk_size, runnel::StreamOptions::kModelDefault,
    "Encoder frames decoded at a time; -1: the whole utterance; -2: as the model recommends. "
    "Larger is more accurate and later.");
DEFINE_int64(left_context, runnel::StreamOptions::kModelDefault,
             "Encoder frames before a chunk that it sees; -1: all; -2: as the model recommends.");
DEFINE_string(search, "greedy",
              "greedy, or beam: CTC prefix beam search (the default with --word_list).");
DEFINE_int32(beam_size, 8, "Hypotheses kept by --search=beam.");
DEFINE_string(
    word_list, "",
    "Recognise nothing but these words: a file with one word per line, or 'WORD unit unit "
    "...' where the model's units are not single characters. Uses --search=beam.");
DEFINE_int32(nbest, 1, "Hypotheses written per recording; more than 1 needs --search=beam.");
DEFINE_string(format, "text",
              "text: 'id text' per line (with --nbest=N: 'id-1 text', 'id-2 text', ...); json: an "
              "object per line, with scores, tokens and words; ctm: 'id 1 start duration word "
              "confidence' per word, in seconds.");
DEFINE_string(output, "",
              "File for the results; empty or -: standard output. {shard} in its name becomes e.g. "
              "3-of-10.");
DEFINE_bool(
    resume, false,
    "Keep the results that --output holds already and decode only what is missing, with the "
    "flags of the run that was ended before its time.");
DEFINE_string(shard, "",
              "i/n: decode only the i-th of n parts, every n-th recording. Default: all (1/1), but "
              "with --wav_scp in a task of a Slurm array that task's part.");
DEFINE_bool(partial, false,
            "Show on standard error what is recognised so far, whenever it changes.");
DEFINE_int32(batch_streams, 1,
             "Recordings that each thread decodes side by side; each is an open file (ulimit -n).");
DEFINE_int32(num_threads, 1, "Worker threads; each decodes its own batch of recordings.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(decode_wav recognises speech in audio files, chunk by chunk, and writes the text.

  decode_wav --model=M.pt (--wav=a.wav,b.flac | --wav_scp=list) [flags]

Reads WAV, FLAC and what else libsndfile knows, at any sample rate from 1 kHz. Results come in the
order of the input, each as soon as it is ready; logs and a summary go to standard error. A file that
cannot be decoded is named there and left out of the results; a WAV file that was cut off is named
there and decoded as far as it goes. Exit code: 0 success, 1 something failed, 2 wrong flags.
Ctrl-C while standard input is read ends the audio, a second one the program. A run that was killed
and is started again with --resume ends with the file of one that was not.

Examples:
  decode_wav --model=models/digits/digits.pt --wav=a.wav,b.flac
  decode_wav --model=models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp --partial
  arecord -q -f S16_LE -r 16000 | decode_wav --model=models/digits/digits.pt --wav=- --partial
  decode_wav --model=models/digits/digits.pt --wav_scp=wav.scp --search=beam --nbest=5 --format=json
  decode_wav --model=models/digits/digits.pt --wav=a.wav --word_list=models/digits/words.txt
  decode_wav --model=models/digits/digits.pt --wav_scp=wav.scp --chunk_size=4 --left_context=-1
  decode_wav --model=models/digits/digits.pt --wav_scp=wav.scp --batch_streams=16 --num_threads=4
  decode_wav --model=models/digits/digits.pt --wav_scp=wav.scp --shard=3/10 --output={shard}.txt --resume
)";

// More streams than a process has memory for.
constexpr int kMaxBatchStreams = 65536;

// Descriptors that are not recordings: standard streams, the output, and room to spare.
constexpr int64_t kOtherDescriptors = 16;

void CheckFlags() {
  RequireFlag("model", kModelFile);
  RequireEither("wav", "wav_scp");
  RequireRange("channel", FLAGS_channel, -1, kMaxChannel);
  RequireRange("nbest", FLAGS_nbest, 1, std::numeric_limits<int32_t>::max());
  RequireRange("batch_streams", FLAGS_batch_streams, 1, kMaxBatchStreams);
  RequireRange("num_threads", FLAGS_num_threads, 1, kMaxThreads);
}

// A recording that cannot be opened for want of descriptors is no bad recording.
void CheckDescriptors(size_t num_recordings) {
  const int64_t allowed = RaiseDescriptorLimit();
  const int64_t side_by_side = int64_t{FLAGS_batch_streams} * FLAGS_num_threads;
  const int64_t needed = std::min(side_by_side, static_cast<int64_t>(num_recordings));
  if (needed <= allowed - kOtherDescriptors) return;
  throw std::invalid_argument(
      "--batch_streams times --num_threads is " + std::to_string(side_by_side) +
      ", expected at most " + std::to_string(std::max<int64_t>(allowed - kOtherDescriptors, 0)) +
      ": this process may have " + std::to_string(allowed) + " files open (ulimit -n)");
}

// --word_list alone is enough to say that beam search is wanted.
SearchMethod SearchMethodFromFlags() {
  if (FLAGS_search == "beam") return SearchMethod::kPrefixBeam;
  if (FLAGS_search != "greedy") {
    throw std::invalid_argument("--search is '" + FLAGS_search + "', expected greedy or beam");
  }
  if (FLAGS_word_list.empty()) return SearchMethod::kGreedy;
  if (IsFlagGiven("search")) {
    throw std::invalid_argument("--word_list needs --search=beam, got --search=greedy");
  }
  return SearchMethod::kPrefixBeam;
}

SearchOptions SearchOptionsFromFlags() {
  SearchOptions options;
  options.method = SearchMethodFromFlags();
  options.beam_size = FLAGS_beam_size;
  options.Validate();
  const int most = options.method == SearchMethod::kPrefixBeam ? options.beam_size : 1;
  if (FLAGS_nbest > most) {
    throw std::invalid_argument(
        "--nbest is " + std::to_string(FLAGS_nbest) + ", expected at most " + std::to_string(most) +
        (most == 1 ? " with --search=greedy" : " with --search=beam and this --beam_size"));
  }
  return options;
}

OutputFormat OutputFormatFromFlags() {
  const OutputFormat format = ParseOutputFormat(FLAGS_format);
  if (format == OutputFormat::kCtm && FLAGS_nbest > 1) {
    throw std::invalid_argument("--format=ctm holds one hypothesis per recording, --nbest is " +
                                std::to_string(FLAGS_nbest));
  }
  if (FLAGS_resume && (FLAGS_output.empty() || FLAGS_output == "-")) {
    throw std::invalid_argument("--resume needs --output=FILE, whose results it keeps");
  }
  if (FLAGS_resume && format == OutputFormat::kText && FLAGS_nbest > 1) {
    throw std::invalid_argument("--resume with --nbest=" + std::to_string(FLAGS_nbest) +
                                " needs --format=json, one line per recording");
  }
  return format;
}

Shard ShardFromFlags(Console* console) {
  if (IsFlagGiven("shard")) return ParseShard(FLAGS_shard);
  // Who names single files in a task of an array wants these.
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
  console->Info("shard " + shard->Name() + " by this Slurm array (--shard=1/1 decodes all)");
  return *shard;
}

// Takes the results of single recordings, in any order, from any thread.
using ResultSink = std::function<void(size_t index, std::string text)>;

// Writes results to the output and everything else to the console.
class DecodeReport : public DecodeListener {
 public:
  DecodeReport(const Model& model, const std::vector<Recording>& recordings, OutputFormat format,
               ResultSink sink, Progress* progress, Console* console)
      : tokens_(model.tokens()),
        recordings_(recordings),
        format_(format),
        sink_(std::move(sink)),
        progress_(progress),
        console_(console) {}

  void OnAudio(double seconds) override { progress_->AddAudio(seconds); }

  void OnPartial(size_t index, const std::string& text) override {
    if (!FLAGS_partial) return;
    console_->Print(recordings_[index].id + " partial: " + text);
  }

  void OnResult(size_t index, const RecordingResult& result) override {
    console_->SetStatus("");
    if (result.announced_seconds.value_or(0) > result.audio_seconds) {
      const std::string& path = recordings_[index].path;
      console_->Info((path == "-" ? "standard input" : path) + ": ends after " +
                     Decimal(result.audio_seconds, 2) + " s, its header announces " +
                     Decimal(*result.announced_seconds, 2) + " s");
    }
    sink_(index, FormatResult(format_, recordings_[index].id, result, FLAGS_nbest, tokens_));
    progress_->AddFinished(/*failed=*/false);
  }

  void OnFailure(size_t index, const std::string& message) override {
    console_->Error(message);
    sink_(index, "");
    progress_->AddFinished(/*failed=*/true);
  }

 private:
  const TokenTable& tokens_;
  const std::vector<Recording>& recordings_;
  const OutputFormat format_;
  const ResultSink sink_;
  Progress* const progress_;
  Console* const console_;
};

std::string Milliseconds(double value) { return Decimal(value, 2) + " ms"; }

std::string Describe(const StreamOptions& options, const Model& model) {
  const std::string chunk = options.chunk_size == StreamOptions::kWholeUtterance
                                ? "the whole utterance at once"
                                : "chunks of " + std::to_string(options.chunk_size) +
                                      " encoder frames of " +
                                      Milliseconds(model.encoder_frame_ms());
  return "model " + model.config().name + ", " + chunk + ", left context " +
         (options.left_context == StreamOptions::kUnlimited
              ? "unlimited"
              : std::to_string(options.left_context)) +
         "; " + model.ComputeDescription();
}

// Writes the results of `recordings` to `output`, after those that are there already.
LatencyHistogram Decode(const std::shared_ptr<const Model>& model,
                        const BatchDecoderOptions& options, OutputFormat format,
                        const std::vector<Recording>& recordings, const FinishedResults& finished,
                        const std::string& output_path, Progress* progress, Console* console) {
  const auto decode = [&](const std::vector<Recording>& some, const ResultSink& sink) {
    DecodeReport report(*model, some, format, sink, progress, console);
    return DecodeRecordings(model, some, options, FLAGS_num_threads, &report);
  };
  std::vector<Recording> gaps;
  for (const size_t index : finished.gaps()) gaps.push_back(recordings[index]);
  std::map<size_t, std::string> found;
  std::mutex mutex;  // of found
  LatencyHistogram latency = decode(gaps, [&](size_t gap, std::string text) {
    const std::lock_guard<std::mutex> lock(mutex);
    found.emplace(finished.gaps()[gap], std::move(text));
  });
  finished.Restore(found);

  OrderedOutput output(
      output_path, FLAGS_resume ? OrderedOutput::Mode::kAppend : OrderedOutput::Mode::kOverwrite);
  const auto first = recordings.begin() + static_cast<std::ptrdiff_t>(finished.num_reached());
  latency.Merge(decode({first, recordings.end()}, [&](size_t index, std::string text) {
    output.Put(index, std::move(text));
  }));
  output.Close();
  return latency;
}

int Run(Console* console) {
  CheckFlags();
  const OutputFormat format = OutputFormatFromFlags();
  BatchDecoderOptions options;
  options.stream = {FLAGS_chunk_size, FLAGS_left_context, SearchOptionsFromFlags()};
  options.nbest = FLAGS_nbest;
  options.batch_streams = FLAGS_batch_streams;
  options.channel = FLAGS_channel;
  const Shard shard = ShardFromFlags(console);
  const std::string output_path = FileNameOfShard(FLAGS_output, shard);
  const std::vector<Recording> recordings = SelectShard(
      FLAGS_wav.empty() ? ReadRecordingList(FLAGS_wav_scp) : RecordingsFromPaths(FLAGS_wav), shard);
  CheckDescriptors(recordings.size());

  std::vector<std::string> inputs = ModelInputFiles();
  inputs.insert(inputs.end(), {FLAGS_wav_scp, FLAGS_word_list});
  for (const Recording& recording : recordings) inputs.push_back(recording.path);
  CheckOutputIsNoInput(output_path, inputs);
  CheckOutputCanBeWritten(output_path);
  const FinishedResults finished =
      FLAGS_resume ? FinishedResults(output_path, format, recordings) : FinishedResults();
  if (FLAGS_resume) {
    console->Info(output_path + ": " + std::to_string(finished.num_finished()) + " of " +
                  std::to_string(recordings.size()) + " recordings are finished");
  }

  if (HasStandardInput(recordings)) OutliveFirstInterrupt();
  SetThreadsPerOperation(1);
  const std::shared_ptr<const Model> model = LoadModel();
  if (!FLAGS_word_list.empty()) {
    options.stream.search.lexicon = Lexicon::Read(FLAGS_word_list, model->tokens());
  }
  // Made once here, so that options which this model cannot serve are an error before anything
  // else.
  console->Info(Describe(Stream(model, options.stream).options(), *model));

  Progress progress(recordings.size() - finished.num_finished(), /*shows_bar=*/!FLAGS_partial,
                    console);
  const LatencyHistogram latency =
      Decode(model, options, format, recordings, finished, output_path, &progress, console);
  console->SetStatus("");
  console->Info(progress.Summary());
  console->Info("chunk latency p50 " + Milliseconds(latency.QuantileMs(0.50)) + ", p95 " +
                Milliseconds(latency.QuantileMs(0.95)) + ", p99 " +
                Milliseconds(latency.QuantileMs(0.99)) + " (" + std::to_string(latency.count()) +
                " chunks)");
  return progress.num_failed() == 0 ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  return runnel::ToolMain(argc, argv,
                          {"decode_wav", runnel::kUsage, {__FILE__, runnel::kModelFlagsSource}},
                          runnel::Run);
}
