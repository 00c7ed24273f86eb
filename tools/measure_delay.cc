// measure_delay: measures how late the tokens of a stream come, compared with a forced alignment.
#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/tool_main.h"
#include "tools/decode/input/kaldi_table.h"
#include "tools/decode/input/recording_list.h"
#include "tools/verification/delay_table.h"
#include "tools/verification/token_delays.h"
#include "tools/verification/whole_audio.h"

DEFINE_string(wav, "", "Audio files, separated by commas; -: standard input.");
DEFINE_string(
    wav_scp, "",
    "List of audio files, one 'id path' per line; paths are relative to the current folder.");
DEFINE_int64(chunk_size, runnel::StreamOptions::kModelDefault,
             "Encoder frames that the stream decodes at a time; -1: the whole utterance; -2: as "
             "the model recommends.");
DEFINE_int64(
    left_context, runnel::StreamOptions::kModelDefault,
    "Encoder frames before a chunk that it attends to; -1: all; -2: as the model recommends.");
DEFINE_int64(
    right_context, runnel::StreamOptions::kModelDefault,
    "Of an offline model: encoder frames after a chunk, with which it is computed anew in a "
    "window; -1: none; -2: 0.64 s of audio where the model needs windows.");
DEFINE_bool(cached_windows, false,
            "Of windows: compute the left context once, and not anew in each window.");
DEFINE_string(text, "",
              "Reference texts, one 'id words' per line (Kaldi's text), with a line for every "
              "recording, in words that the tokens of the model can spell. Default: the text that "
              "the model finds in the recording when it reads the whole utterance.");
DEFINE_int64(
    early_text_interval, 0,
    "Encoder frames of audio after which a preview of the unfinished chunk gives tentative "
    "text; 0: none.");
DEFINE_int64(early_text_padding, runnel::EarlyTextOptions().padding,
             "Encoder frames of mean features that a preview has after the audio.");
DEFINE_bool(verbose, false, "Also print a line for every recording.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(measure_delay measures how late the tokens of a stream come, compared with a forced alignment.

  measure_delay MODEL (FILE... | --wav_scp=list) [--text=text] [flags]

It aligns the tokens of each reference text with the whole recording (Viterbi algorithm on the CTC
output), streams the recording with greedy search, and compares the tokens that both have in common.
The stream of a model with a transducer and a CTC head uses the transducer.
  - emission delay: the encoder frame in which the stream emits a token, minus the first frame of the
    token in the alignment;
  - text delay: the end of the audio that must have arrived before the text of the stream has the
    token, minus the same frame. Nothing is added for computing or for the network.
Both are times of audio and do not depend on the speed of the machine. Delays are relative to the
alignment by the model, which itself may place tokens late. A recording that cannot be measured is
reported and left out. Memory grows with the square of a recording's length; use a few minutes or less.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  measure_delay models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp
  measure_delay models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp \
      --text=models/digits/samples/text --chunk_size=4 --left_context=64 --verbose
)";

constexpr int64_t kMaxInterval = 1000000;  // encoder frames: eleven hours of audio

void CheckFlags() {
  RequireFlag("model", kModelFile);
  RequireEither("wav", "wav_scp");
  AudioOptionsFromFlags();  // which throws
  if (IsFlagGiven("early_text_padding") && FLAGS_early_text_interval == 0) {
    throw std::invalid_argument("--early_text_padding needs --early_text_interval");
  }
  RequireRange("early_text_interval", FLAGS_early_text_interval, 0, kMaxInterval);
  RequireRange("early_text_padding", FLAGS_early_text_padding, 0, EarlyTextOptions::kMaxPadding);
  if (FLAGS_early_text_interval > 0 && FLAGS_chunk_size == StreamOptions::kWholeUtterance) {
    throw std::invalid_argument("--early_text_interval needs a --chunk_size other than -1");
  }
}

// The reference texts by id, which have one for every recording.
std::map<std::string, std::string> ReadTexts(const std::vector<Recording>& recordings) {
  std::map<std::string, std::string> texts;
  for (const KaldiLine& line : ReadKaldiTable(FLAGS_text, "id words")) {
    texts.emplace(line.id, line.value);
  }
  for (const Recording& recording : recordings) {
    if (texts.count(recording.id) > 0) continue;
    throw std::runtime_error(FLAGS_text + ": has no line for recording '" + recording.id + "'");
  }
  return texts;
}

RecordingDelays MeasureFile(const DelayMeasurement& measurement, const Model& model,
                            const std::string& path,
                            const std::optional<std::string>& reference_text) {
  const std::vector<float> samples =
      ReadSamples(path, model.sample_rate_hz(), AudioOptionsFromFlags());
  try {
    return measurement.Measure(samples, reference_text);
  } catch (const std::exception& error) {  // which does not know the file
    throw std::runtime_error(path + ": " + error.what());
  }
}

// "ked_year: 12 of 13 reference tokens matched, median emission delay 40 ms, text delay 320 ms"
std::string RecordingLine(const std::string& id, const RecordingDelays& recording) {
  DelayTable table;
  table.Add(recording);
  std::string line = id + ": " + table.Matches();
  if (recording.tokens.empty()) return line;
  std::vector<double> emission_ms;
  std::vector<double> text_ms;
  for (const TokenDelay& delay : recording.tokens) {
    emission_ms.push_back(delay.emission_ms);
    text_ms.push_back(delay.text_ms);
  }
  return line + ", median emission delay " + Decimal(Quantile(emission_ms, 0.5), 0) +
         " ms, text delay " + Decimal(Quantile(text_ms, 0.5), 0) + " ms";
}

int Run(Console* console) {
  CheckFlags();
  const std::vector<Recording> recordings =
      FLAGS_wav.empty() ? ReadRecordingList(FLAGS_wav_scp) : RecordingsFromPaths(FilesOf("wav"));
  std::map<std::string, std::string> texts;
  if (!FLAGS_text.empty()) texts = ReadTexts(recordings);
  const std::shared_ptr<const Model> model = LoadModel();
  StreamOptions options;
  options.chunk_size = FLAGS_chunk_size;
  options.left_context = FLAGS_left_context;
  options.right_context = FLAGS_right_context;
  options.cached_windows = FLAGS_cached_windows;
  options.early_text = {FLAGS_early_text_interval, FLAGS_early_text_padding};
  const DelayMeasurement measurement(model, options);

  DelayTable table;
  size_t num_measured = 0;
  for (size_t i = 0; i < recordings.size(); ++i) {
    const Recording& recording = recordings[i];
    console->SetStatus(std::to_string(i + 1) + "/" + std::to_string(recordings.size()) + " " +
                       recording.id);
    try {
      const auto text = texts.find(recording.id);
      const RecordingDelays delays =
          MeasureFile(measurement, *model, recording.path,
                      text == texts.end() ? std::nullopt : std::optional(text->second));
      table.Add(delays);
      ++num_measured;
      console->SetStatus("");
      if (FLAGS_verbose) std::printf("%s\n", RecordingLine(recording.id, delays).c_str());
    } catch (const std::exception& error) {
      console->SetStatus("");
      console->Error(error.what());
    }
  }
  if (num_measured == 0) return kExitFailure;
  if (table.num_reference_tokens() == 0) {
    console->Error("the recordings have no reference token, expected speech and its text");
    return kExitFailure;
  }
  std::printf("model %s, %s, aligned at %s: %zu recordings, %s%s\n%s", model->name().c_str(),
              measurement.stream_setting().Name().c_str(),
              measurement.alignment_setting().Name().c_str(), num_measured, table.Matches().c_str(),
              table.Retractions().c_str(), table.Text().c_str());
  return num_measured == recordings.size() ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"measure_delay",
                    runnel::kUsage,
                    {{__FILE__}, runnel::kAudioFlagsSource, runnel::kModelFlagsSource},
                    {"model", "wav", "wav_scp", "text", "verbose"},
                    {"model", "wav"},
                    {"wav"}},
                   runnel::Run);
}
