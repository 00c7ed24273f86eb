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
  if (!(FLAGS_ctc_weight >= 0 && FLAGS_ctc_weight <= 1)) {
    throw std::invalid_argument("--ctc_weight is " + std::to_string(FLAGS_ctc_weight) +
                                ", expected 0 to 1");
  }
  options->ctc_weight = FLAGS_ctc_weight;
}

}  // namespace runnel
