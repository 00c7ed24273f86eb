// bench_language_model: measures a random 3-gram model: compiling, opening, lookups, scoring, and
// searches with it and with hotwords.
#include <gflags/gflags.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "platform/process.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/ngram/ngram_model.h"
#include "runtime/scoring/language_model_scorer.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search_options.h"
#include "runtime/token_table.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/random/language_model.h"
#include "tools/benchmark/random/log_probs.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/tool_main.h"

DEFINE_int64(ngrams, 10000000, "N-grams of the model, about.");
DEFINE_int64(words, 200000, "Words of the model.");
DEFINE_string(folder, "",
              "Folder for the files, which are removed at the end; some 50 bytes per n-gram.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(bench_language_model writes a random 3-gram model, compiles it, and measures its use.

  bench_language_model FOLDER [flags]

Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  bench_language_model /tmp
  bench_language_model /tmp --ngrams=1000000 --words=50000
)";

constexpr int64_t kTextWords = 200000;
constexpr int kRepeats = 5;
constexpr int kBeamSize = 8;
constexpr size_t kSearchTokens = 250;  // of the text that is searched, 1000 encoder frames
constexpr size_t kNumHotwords = 100;
constexpr int kUnitsOfTheModel = 4233;  // as in AISHELL; those that spell no word are never likely

void Print(const std::string& name, double value, int decimals, const std::string& unit) {
  std::printf("%-40s %12s %s\n", name.c_str(), Decimal(value, decimals).c_str(), unit.c_str());
  FlushStandardOutput();
}

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double PeakMiB() { return MiB(static_cast<uint64_t>(PeakMemoryBytes())); }

// Removes its file.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path(FLAGS_folder + "/bench_language_model." + std::to_string(::getpid()) + name) {}
  ~TemporaryFile() { ::unlink(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string path;
};

// The vocabulary of an acoustic model: syllables within a word and at its beginning.
TokenTable MakeTokens() {
  std::string units = "<blank> 0\n";
  int size = 1;
  for (const std::string& syllable : RandomLanguageModel::AllSyllables()) {
    units += std::string(TokenTable::kWordBoundary) + syllable + " " + std::to_string(size) + "\n";
    units += syllable + " " + std::to_string(size + 1) + "\n";
    size += 2;
  }
  for (; size < kUnitsOfTheModel; ++size) {
    units += "unused" + std::to_string(size) + " " + std::to_string(size) + "\n";
  }
  return {units, size, 0, "units"};
}

std::vector<int32_t> Tokenize(const std::vector<uint32_t>& text, const TokenTable& tokens) {
  std::unordered_map<std::string, int32_t> ids;
  for (int32_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens.name(id), id);
  std::vector<int32_t> tokenized;
  for (const uint32_t word : text) {
    std::string boundary(TokenTable::kWordBoundary);
    for (const std::string& syllable : RandomLanguageModel::Syllables(word)) {
      tokenized.push_back(ids.at(boundary + syllable));
      boundary.clear();
    }
  }
  return tokenized;
}

// The shortest of several runs, in nanoseconds per item.
template <typename Work>
double NanosecondsEach(size_t num_items, const Work& work) {
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const double milliseconds = MillisecondsOf(work);
    if (i == 0 || milliseconds < best) best = milliseconds;
  }
  return best * 1e6 / static_cast<double>(num_items);
}

void MeasureLookups(const LanguageModel& model, const std::vector<uint32_t>& text) {
  const NgramModel& ngrams = model.ngrams();
  std::vector<uint32_t> words;
  for (const uint32_t word : text) {
    std::string spelling;
    for (const std::string& syllable : RandomLanguageModel::Syllables(word)) spelling += syllable;
    words.push_back(ngrams.WordId(spelling));
  }
  double sum = 0;
  Print("p(word | words before)",
        NanosecondsEach(words.size(),
                        [&] {
                          NgramModel::Context context = ngrams.Start();
                          for (const uint32_t word : words)
                            sum += ngrams.Log10Prob(context, word, &context);
                        }),
        0, "ns");
  if (sum > 0) std::abort();  // uses the sum, so that it is computed
}

struct Step {
  LanguageModelScorer::State state;
  int32_t token;
};

void MeasureScorer(const std::shared_ptr<const LanguageModel>& model,
                   const std::vector<uint32_t>& text) {
  const TokenTable tokens = MakeTokens();
  LanguageModelOptions options;
  options.model = model;
  const LanguageModelScorer scorer(options, tokens);
  Print("preparation for a vocabulary",
        MillisecondsOf([&] { PrepareLanguageModel(options, tokens); }), 3, "ms");
  std::vector<Step> within;
  std::vector<Step> ends;
  LanguageModelScorer::State state = scorer.Start();
  for (const int32_t token : Tokenize(text, tokens)) {
    const bool begins_word = tokens.text(token).front() == ' ';
    (begins_word ? ends : within).push_back({state, token});
    scorer.Extend(&state, token);
  }
  double sum = 0;
  const auto extend = [&](const std::vector<Step>& steps) {
    return NanosecondsEach(steps.size(), [&] {
      for (const Step& step : steps) {
        LanguageModelScorer::State copy = step.state;
        sum += scorer.Extend(&copy, step.token);
      }
    });
  };
  Print("Extend within a word", extend(within), 0, "ns");
  Print("Extend at the end of a word", extend(ends), 0, "ns");
  Print("MostGain",
        NanosecondsEach(ends.size(),
                        [&] {
                          for (const Step& step : ends) sum += scorer.MostGain(step.state);
                        }),
        0, "ns");
  if (sum == 1) std::abort();  // uses the sum, so that it is computed
}

// Pairs of words, the first of which are in the text. Half of the pairs are too.
std::string HotwordList(const std::vector<uint32_t>& text) {
  std::string list;
  for (size_t i = 0; i < kNumHotwords; ++i) {
    for (const uint32_t word : {text[i], text[i % 2 == 0 ? i + 1 : i + kNumHotwords]}) {
      for (const std::string& syllable : RandomLanguageModel::Syllables(word)) list += syllable;
      list += ' ';
    }
    list += '\n';
  }
  return list;
}

// Of one encoder frame.
void MeasureSearch(const std::shared_ptr<const LanguageModel>& model,
                   const std::vector<uint32_t>& text) {
  const TokenTable tokens = MakeTokens();
  std::vector<int32_t> ids = Tokenize(text, tokens);
  ids.resize(kSearchTokens);
  const std::vector<float> log_probs = RandomLogProbs(ids, tokens.size());
  const size_t num_frames = log_probs.size() / static_cast<size_t>(tokens.size());
  const auto measure = [&](const std::string& name, const SearchOptions& options) {
    const auto search = MakeCtcSearch(options, tokens.size(), 0);
    Print(name,
          NanosecondsEach(num_frames,
                          [&] {
                            search->Reset();
                            search->Advance(log_probs.data(), static_cast<int64_t>(num_frames));
                          }) /
              1000,
          2, "us");
  };
  SearchOptions options;
  measure("a frame, greedy search", options);
  options.method = SearchMethod::kPrefixBeam;
  options.beam_size = kBeamSize;
  measure("a frame, beam 8", options);
  SearchOptions biased = options;
  biased.hotwords = std::make_shared<const Hotwords>(HotwordList(text), tokens,
                                                     Hotwords::kDefaultScore, "hotwords");
  measure("a frame, beam 8, with hotwords", biased);
  options.language_model = PrepareLanguageModel({model}, tokens);
  measure("a frame, beam 8, with the model", options);
}

int Run(Console* console) {
  RequireFlag("folder", "a folder for temporary files");
  RequireRange("words", FLAGS_words, 1000, 100000000);
  RequireRange("ngrams", FLAGS_ngrams, 10 * FLAGS_words, 1000000000);
  const TemporaryFile arpa(".arpa");
  const TemporaryFile compiled(".bin");
  const RandomLanguageModel random(FLAGS_words, FLAGS_ngrams);
  console->SetStatus("writing " + arpa.path);
  random.Write(arpa.path);
  Print("ARPA text", MiB(std::filesystem::file_size(arpa.path)), 1, "MiB");

  console->SetStatus("compiling");
  const double memory_before = PeakMiB();
  std::shared_ptr<const LanguageModel> model;
  Print("compile", MillisecondsOf([&] { model = LanguageModel::Load(arpa.path); }) / 1000, 2, "s");
  Print("  peak memory besides the program's", PeakMiB() - memory_before, 1, "MiB");
  Print("write", MillisecondsOf([&] { model->Save(compiled.path); }) / 1000, 2, "s");
  model.reset();

  std::vector<double> open_ms;
  for (int i = 0; i < kRepeats; ++i) {
    model.reset();
    open_ms.push_back(MillisecondsOf([&] { model = LanguageModel::Load(compiled.path); }));
  }
  for (int length = 1; length <= model->order(); ++length) {
    Print(std::to_string(length) + "-grams", static_cast<double>(model->num_ngrams(length)), 0, "");
  }
  Print("compiled model", MiB(model->size()), 1, "MiB");
  Print("  per n-gram",
        static_cast<double>(model->size()) / static_cast<double>(model->num_ngrams()), 2, "bytes");
  Print("open, median", Summarize(open_ms).median_ms, 1, "ms");

  console->SetStatus("looking up");
  const std::vector<uint32_t> text = random.Text(kTextWords);
  MeasureLookups(*model, text);
  MeasureScorer(model, text);
  MeasureSearch(model, text);
  console->SetStatus("");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"bench_language_model", runnel::kUsage, {{__FILE__}}, {"folder"}, {"folder"}},
                   runnel::Run);
}
