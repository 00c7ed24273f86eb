// Results of C++ as the dataclasses of runnel/results.py. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_RESULTS_H_
#define RUNNEL_RUNTIME_PYTHON_RESULTS_H_

#include <string>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/python/object.h"
#include "runtime/recognizer.h"
#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::python {

Object ToPython(const Hypothesis& hypothesis, const TokenTable& tokens);
Object ToPython(const Utterance& utterance, const TokenTable& tokens);
Object ToPython(const StreamingConfig& streaming);
Object ToPython(const RecognizerStatus& status);

// The text of a live stream's utterance, from its updates.
class LiveText {
 public:
  // The update with the whole text so far.
  Object Add(const LiveUpdate& update, const TokenTable& tokens);

 private:
  std::string stable_text_;
};

// A list.
template <typename Result>
Object ToPython(const std::vector<Result>& results, const TokenTable& tokens) {
  std::vector<Object> items;
  for (const Result& result : results) items.push_back(ToPython(result, tokens));
  return ListOf(items);
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_RESULTS_H_
