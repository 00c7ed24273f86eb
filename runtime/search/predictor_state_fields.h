// The state of a predictor in the snapshot of a stream.
#ifndef RUNNEL_RUNTIME_SEARCH_PREDICTOR_STATE_FIELDS_H_
#define RUNNEL_RUNTIME_SEARCH_PREDICTOR_STATE_FIELDS_H_

#include <memory>
#include <utility>

#include "runtime/transducer/transducer.h"

namespace runnel {

// `state` is a SharedPredictorState. One that is read is made as `transducer` makes them, and
// replaced.
template <class State, class Fields>
void VisitPredictorState(const Transducer& transducer, State& state, Fields& fields) {
  if constexpr (Fields::kReading) {
    PredictorState read = transducer.MakeState();
    for (Matrix* part : {&read.memory, &read.input}) {
      fields.Bytes(part->rows().data, static_cast<size_t>(part->num_bytes()));
      fields.Require(AllFinite(std::as_const(*part).rows()), "a predictor state is not finite");
    }
    state = std::make_shared<const PredictorState>(std::move(read));
  } else {
    for (const Matrix* part : {&state->memory, &state->input}) {
      fields.Bytes(part->rows().data, static_cast<size_t>(part->num_bytes()));
    }
  }
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_PREDICTOR_STATE_FIELDS_H_
