// The parts of the extension module runnel._runnel. Each function adds its classes and functions.
//
// The module follows the C++ interface (runtime/*.h) name by name. Every call that may compute,
// read a file or wait releases the GIL. Results become the dataclasses of runnel/results.py.
#ifndef RUNNEL_RUNTIME_PYTHON_BINDINGS_H_
#define RUNNEL_RUNTIME_PYTHON_BINDINGS_H_

#include "runtime/python/object.h"

namespace runnel::python {

void BindAudio(PyObject* module);       // AudioSource, resample
void BindModel(PyObject* module);       // Model, features, log probabilities
void BindSearch(PyObject* module);      // WordList, Hotwords, LanguageModel
void BindStream(PyObject* module);      // Stream, decode_chunks
void BindRecognizer(PyObject* module);  // Recognizer
void BindLiveStream(PyObject* module);  // LiveStream

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_BINDINGS_H_
