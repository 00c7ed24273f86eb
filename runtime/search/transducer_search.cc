#include "runtime/search/transducer_search.h"

#include <stdexcept>

#include "runtime/search/one_label_search.h"
#include "runtime/search/time_synchronous_search.h"
#include "runtime/search/transducer_greedy_search.h"

namespace runnel {

std::unique_ptr<TransducerSearch> MakeTransducerSearch(const SearchOptions& options,
                                                       const Transducer& transducer) {
  options.Validate();
  if (options.word_list != nullptr) {
    throw std::invalid_argument("search.word_list needs the CTC head, got a transducer");
  }
  const TransducerConfig& config = transducer.config();
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
