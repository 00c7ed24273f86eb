#include "tools/cli/search_flags.h"

#include <gflags/gflags.h>

#include <stdexcept>
#include <string>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "tools/cli/command_line.h"

DEFINE_string(
    hotwords, "",
    "Prefer these phrases: a file with one phrase per line, optionally with its score: 'PHRASE "
    ":1.5' (docs/hotwords.md). Selects beam search.");
DEFINE_double(hotword_score, runnel::Hotwords::kDefaultScore,
              "Bonus per character of a phrase in --hotwords that has no score of its own.");
DEFINE_string(lm, "",
              "N-gram language model: ARPA text, or a file of compile_lm, which opens at once "
              "(docs/language_models.md). Selects beam search.");
DEFINE_string(lm_level, "word", "What the words of --lm are: word, or token (of units.txt).");
DEFINE_double(lm_weight, runnel::LanguageModelOptions().weight,
              "Factor of the log probability of --lm.");
DEFINE_double(lm_bonus, runnel::LanguageModelOptions().bonus,
              "Added to the score for each word of --lm, a natural logarithm.");

namespace runnel {
namespace {

void RequireFileOf(const std::string& name, const std::string& file_flag, bool has_file) {
  if (has_file || !IsFlagGiven(name)) return;
  throw std::invalid_argument("--" + name + " needs --" + file_flag + "=FILE");
}

LanguageModelLevel LevelFromFlag() {
  if (FLAGS_lm_level == "word") return LanguageModelLevel::kWord;
  if (FLAGS_lm_level == "token") return LanguageModelLevel::kToken;
  throw std::invalid_argument("--lm_level is '" + FLAGS_lm_level + "', expected word or token");
}

}  // namespace

const char* const kSearchFlagsSource = __FILE__;

void CheckSearchFlags() {
  for (const char* name : {"hotwords", "lm"}) {
    if (IsFlagGiven(name)) RequireFlag(name, "a file");
  }
  RequireFileOf("hotword_score", "hotwords", !FLAGS_hotwords.empty());
  for (const char* name : {"lm_level", "lm_weight", "lm_bonus"}) {
    RequireFileOf(name, "lm", !FLAGS_lm.empty());
  }
  LevelFromFlag();
  RequireRealRange("hotword_score", FLAGS_hotword_score, -Hotwords::kMaxScore, Hotwords::kMaxScore);
  RequireRealRange("lm_weight", FLAGS_lm_weight, 0, LanguageModelOptions::kMaxWeight);
  RequireRealRange("lm_bonus", FLAGS_lm_bonus, -LanguageModelOptions::kMaxBonus,
                   LanguageModelOptions::kMaxBonus);
}

std::string FlagThatNeedsBeamSearch() {
  return !FLAGS_hotwords.empty() ? "hotwords" : !FLAGS_lm.empty() ? "lm" : "";
}

void ReadSearchFiles(const TokenTable& tokens, SearchOptions* options) {
  if (!FLAGS_hotwords.empty()) {
    options->hotwords =
        Hotwords::Read(FLAGS_hotwords, tokens, static_cast<float>(FLAGS_hotword_score));
  }
  if (FLAGS_lm.empty()) return;
  LanguageModelOptions lm;
  lm.level = LevelFromFlag();
  lm.weight = FLAGS_lm_weight;
  lm.bonus = FLAGS_lm_bonus;
  lm.model = LanguageModel::Load(FLAGS_lm);
  options->language_model = PrepareLanguageModel(lm, tokens);
}

std::vector<std::string> SearchInputFiles() { return {FLAGS_hotwords, FLAGS_lm}; }

}  // namespace runnel
