// The interface that takes the formatted results of a list of recordings.
#ifndef RUNNEL_TOOLS_DECODE_RESULT_SINK_H_
#define RUNNEL_TOOLS_DECODE_RESULT_SINK_H_

#include <cstddef>
#include <string>

namespace runnel {

// Takes results in any order. Implementations are thread-safe, except that the calls for one result
// come one after another.
class ResultSink {
 public:
  virtual ~ResultSink() = default;

  // The next piece of result `index` (0, 1, ...).
  virtual void Append(size_t index, const std::string& piece) = 0;

  // Result `index` has all its pieces, of which there may be none. Once per result.
  virtual void Complete(size_t index) = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_RESULT_SINK_H_
