#include "runtime/search/transducer_search.h"

#include <stdexcept>
#include <string>

#include "runtime/options/option_error.h"
#include "runtime/search/one_label_search.h"
#include "runtime/search/time_synchronous_search.h"
#include "runtime/search/transducer_greedy_search.h"

namespace runnel {
namespace {

bool GivesFramesOneLabel(const SearchOptions& options, const TransducerConfig& config) {
  return options.method == SearchMethod::kModifiedBeam ||
         (options.method == SearchMethod::kPrefixBeam &&
          config.beam != TransducerBeam::kTimeSynchronous);
}

// Options that would have no effect.
void CheckOptions(const SearchOptions& options, const TransducerConfig& config) {
  if (options.word_list != nullptr) {
    throw OptionError(OptionName("word_list") + " needs " + OptionName("head", "ctc") +
                      ", got a transducer");
  }
  if (options.method == SearchMethod::kModifiedBeam && !config.durations.empty()) {
    throw std::invalid_argument(
        "modified beam search has no durations, got a TDT model; expected greedy or "
        "beam search");
  }
  if (options.ctc_weight > 0 && !GivesFramesOneLabel(options, config)) {
    throw OptionError(
        OptionName("ctc_weight") + " needs a beam search with one label per frame, got " +
        (options.method == SearchMethod::kGreedy ? "greedy search"
                                                 : "the time-synchronous beam search"));
  }
}

}  // namespace

std::unique_ptr<TransducerSearch> MakeTransducerSearch(const SearchOptions& options,
                                                       const Transducer& transducer) {
  options.Validate();
  const TransducerConfig& config = transducer.config();
  CheckOptions(options, config);
  const int max_symbols = options.max_symbols == 0 ? config.max_symbols : options.max_symbols;
  if (options.method == SearchMethod::kGreedy) {
    return std::make_unique<TransducerGreedySearch>(transducer, max_symbols);
  }
  const TransducerBeam beam =
      options.method == SearchMethod::kModifiedBeam ? TransducerBeam::kModified : config.beam;
  switch (beam) {
    case TransducerBeam::kTimeSynchronous:
      return std::make_unique<TimeSynchronousSearch>(options, transducer, max_symbols);
    case TransducerBeam::kModified:
      return std::make_unique<ModifiedBeamSearch>(options, transducer);
    case TransducerBeam::kPrefix:
      return std::make_unique<PrefixMergingSearch>(options, transducer);
  }
  throw std::logic_error("a beam search of transducers without a class");
}

}  // namespace runnel
