#include "tools/decode/head_flags.h"

#include <gflags/gflags.h>

#include <stdexcept>
#include <string>

#include "tools/cli/command_line.h"

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

namespace runnel {

const char* const kHeadFlagsSource = __FILE__;

void ReadHeadFlags(SearchOptions* options) {
  if (FLAGS_head == "ctc") {
    options->head = Head::kCtc;
  } else if (FLAGS_head == "transducer") {
    options->head = Head::kTransducer;
  } else if (!FLAGS_head.empty()) {
    throw std::invalid_argument("--head is '" + FLAGS_head + "', expected transducer or ctc");
  }
  RequireRange("max_symbols", FLAGS_max_symbols, 0, SearchOptions::kMaxSymbols);
  options->max_symbols = FLAGS_max_symbols;
  RequireRange("token_beam", FLAGS_token_beam, 1, SearchOptions::kMaxBeamSize);
  options->token_beam = FLAGS_token_beam;
  RequireRealRange("reverse_weight", FLAGS_reverse_weight, 0, 1);
  RescoringOptions& rescoring = options->rescoring;
  if (!FLAGS_rescore) {
    if (IsFlagGiven("reverse_weight")) {
      throw std::invalid_argument("--reverse_weight needs --rescore");
    }
    RequireRealRange("ctc_weight", FLAGS_ctc_weight, 0, 1);
    options->ctc_weight = FLAGS_ctc_weight;
    return;
  }
  RequireRealRange("ctc_weight", FLAGS_ctc_weight, 0, RescoringOptions::kMaxWeight);
  rescoring.enabled = true;
  rescoring.reverse_weight = FLAGS_reverse_weight;
  if (IsFlagGiven("ctc_weight")) rescoring.first_pass_weight = FLAGS_ctc_weight;
}

}  // namespace runnel
