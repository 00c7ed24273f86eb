// The options of a stream as a model serves them.
#ifndef RUNNEL_RUNTIME_STREAM_RESOLVE_OPTIONS_H_
#define RUNNEL_RUNTIME_STREAM_RESOLVE_OPTIONS_H_

#include "runtime/model.h"
#include "runtime/stream.h"

namespace runnel {

// Replaces defaults by what the model recommends. Throws std::invalid_argument naming an option
// that is out of range or not permitted by the model.
StreamOptions ResolveOptions(const Model& model, StreamOptions options);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_RESOLVE_OPTIONS_H_
