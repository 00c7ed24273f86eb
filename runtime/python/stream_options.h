// Options of streams from keyword arguments of Python, which have the names of runtime/c_api.h.
#ifndef RUNNEL_RUNTIME_PYTHON_STREAM_OPTIONS_H_
#define RUNNEL_RUNTIME_PYTHON_STREAM_OPTIONS_H_

#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/python/object.h"
#include "runtime/stream.h"

namespace runnel::python {

// An option that is not given has the default of StreamOptions. Exception: the search is a beam
// search when another option needs one, as in decode_wav. None stands for "not given". Raises
// TypeError for an unknown name or a wrong type, ValueError for an unknown value and for an option
// that has no effect, and what the files raise.
StreamOptions StreamOptionsFrom(const std::shared_ptr<Model>& model, const Keywords& keywords);

// None stands for null. `nbest`: as in RestoreOptions.
RestoreOptions RestoreOptionsFrom(const std::shared_ptr<Model>& model, const Object& word_list,
                                  const Object& language_model, const Object& nbest);

// Raises TypeError for anything but bytes.
std::string SnapshotBytes(const Object& snapshot);

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_STREAM_OPTIONS_H_
