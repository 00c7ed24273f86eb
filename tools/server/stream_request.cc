#include "tools/server/stream_request.h"

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tools/decimal.h"

namespace runnel::server {

StreamOptions CompleteOptions(const StreamOptions& asked, const StreamOptions& defaults,
                              const Limits& limits) {
  StreamOptions options = asked;
  if (options.chunk_size == StreamOptions::kModelDefault) options.chunk_size = defaults.chunk_size;
  if (options.left_context == StreamOptions::kModelDefault) {
    options.left_context = defaults.left_context;
  } else if (options.left_context == StreamOptions::kUnlimited ||
             options.left_context > limits.max_left_context) {
    throw std::invalid_argument("left_context is " + std::to_string(options.left_context) +
                                ", expected at most " + std::to_string(limits.max_left_context) +
                                " on this server");
  }
  if (options.search.method == SearchMethod::kPrefixBeam &&
      options.search.beam_size > limits.max_beam_size) {
    throw std::invalid_argument("beam_size is " + std::to_string(options.search.beam_size) +
                                ", expected at most " + std::to_string(limits.max_beam_size) +
                                " on this server");
  }
  return options;
}

std::string UtteranceTooLong(const Limits& limits) {
  return "chunk_size is -1, and the utterance is longer than the " +
         Decimal(limits.max_buffered_s, 1) + " s that this server buffers";
}

}  // namespace runnel::server
