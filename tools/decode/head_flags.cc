#include "tools/decode/head_flags.h"

#include <gflags/gflags.h>

#include <stdexcept>
#include <string>

#include "tools/cli/command_line.h"

DEFINE_string(
    search, "greedy",
    "greedy; beam: beam search of the head's kind (the default with hotwords, a language model or "
    "a word list); modified_beam: one label per frame, of transducers.");
DEFINE_string(head, "",
              "transducer or ctc: the part of the model that gives the search its probabilities. "
              "Default: the transducer of a model that has one.");
DEFINE_int32(max_symbols, 0,
             "Most tokens of one encoder frame, with a transducer; 0: as the model says.");
DEFINE_double(ctc_weight, 0,
              "Part of the CTC head in the probability of a label, 0 to 1, in a transducer's beam "
              "search with one label per frame.");
DEFINE_int32(token_beam, runnel::SearchOptions().token_beam,
             "Most probable tokens that a beam search considers per frame.");
DEFINE_bool(rescore, false,
            "Rescore the hypotheses of each utterance with the model's attention decoder. "
            "--ctc_weight (default 0.5) is then the weight of the first pass.");
DEFINE_double(reverse_weight, 0,
              "With --rescore: weight of the decoder from right to left, 0 to 1.");
DEFINE_string(language, "",
              "Language of the audio, for a multilingual model; empty: the model's default.");

namespace runnel {
namespace {

SearchMethod SearchMethodFromFlags(const std::string& needs_beam) {
  if (FLAGS_search == "beam") return SearchMethod::kPrefixBeam;
  if (FLAGS_search == "modified_beam") return SearchMethod::kModifiedBeam;
  if (FLAGS_search != "greedy") {
    throw std::invalid_argument("--search is '" + FLAGS_search +
                                "', expected greedy, beam or modified_beam");
  }
  if (needs_beam.empty()) return SearchMethod::kGreedy;
  if (IsFlagGiven("search")) {
    throw std::invalid_argument("--" + needs_beam + " needs --search=beam, got --search=greedy");
  }
  return SearchMethod::kPrefixBeam;
}

Head HeadFromFlag() {
  if (FLAGS_head.empty()) return Head::kDefault;
  if (FLAGS_head == "ctc") return Head::kCtc;
  if (FLAGS_head == "transducer") return Head::kTransducer;
  throw std::invalid_argument("--head is '" + FLAGS_head + "', expected transducer or ctc");
}

// --ctc_weight is the weight of the CTC head in a label, or with --rescore of the first pass.
void ReadWeights(SearchOptions* options) {
  RequireRealRange("reverse_weight", FLAGS_reverse_weight, 0, 1);
  if (!FLAGS_rescore) {
    if (IsFlagGiven("reverse_weight")) {
      throw std::invalid_argument("--reverse_weight needs --rescore");
    }
    RequireRealRange("ctc_weight", FLAGS_ctc_weight, 0, 1);
    options->ctc_weight = FLAGS_ctc_weight;
    return;
  }
  RequireRealRange("ctc_weight", FLAGS_ctc_weight, 0, RescoringOptions::kMaxWeight);
  RescoringOptions& rescoring = options->rescoring;
  rescoring.enabled = true;
  rescoring.reverse_weight = FLAGS_reverse_weight;
  if (IsFlagGiven("ctc_weight")) rescoring.first_pass_weight = FLAGS_ctc_weight;
}

}  // namespace

const char* const kHeadFlagsSource = __FILE__;

void ReadHeadFlags(const std::string& needs_beam, StreamOptions* options) {
  SearchOptions& search = options->search;
  search.method = SearchMethodFromFlags(needs_beam);
  search.head = HeadFromFlag();
  RequireRange("max_symbols", FLAGS_max_symbols, 0, SearchOptions::kMaxSymbols);
  search.max_symbols = FLAGS_max_symbols;
  RequireRange("token_beam", FLAGS_token_beam, 1, SearchOptions::kMaxBeamSize);
  search.token_beam = FLAGS_token_beam;
  ReadWeights(&search);
  options->language = FLAGS_language;
}

}  // namespace runnel
