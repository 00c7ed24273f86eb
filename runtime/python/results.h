// Results of C++ as the dataclasses of runnel/results.py. Needs the GIL.
#ifndef RUNNEL_RUNTIME_PYTHON_RESULTS_H_
#define RUNNEL_RUNTIME_PYTHON_RESULTS_H_

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/recognizer.h"
#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::python {

pybind11::object ToPython(const Hypothesis& hypothesis, const TokenTable& tokens);
pybind11::object ToPython(const Utterance& utterance, const TokenTable& tokens);
pybind11::object ToPython(const StreamingConfig& streaming);
pybind11::object ToPython(const RecognizerStatus& status);

// The text of a live stream's utterance, from its updates.
class LiveText {
 public:
  // The update with the whole text so far.
  pybind11::object Add(const LiveUpdate& update, const TokenTable& tokens);

 private:
  std::string stable_text_;
};

template <typename Result>
pybind11::list ToPython(const std::vector<Result>& results, const TokenTable& tokens) {
  pybind11::list list;
  for (const Result& result : results) list.append(ToPython(result, tokens));
  return list;
}

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_RESULTS_H_
