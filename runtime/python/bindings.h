// The parts of the extension module runnel._runnel. Each function adds its classes and functions.
//
// The module follows the C++ interface (runtime/*.h) name by name. Every call that may compute,
// read a file or wait releases the GIL. Results become the dataclasses of runnel/results.py.
#ifndef RUNNEL_RUNTIME_PYTHON_BINDINGS_H_
#define RUNNEL_RUNTIME_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

namespace runnel::python {

void BindErrors();                               // C++ exceptions to those of runnel/errors.py
void BindAudio(pybind11::module_* module);       // AudioSource, resample
void BindModel(pybind11::module_* module);       // Model, features, log probabilities
void BindSearch(pybind11::module_* module);      // WordList, Hotwords, LanguageModel
void BindStream(pybind11::module_* module);      // Stream, decode_chunks
void BindRecognizer(pybind11::module_* module);  // Recognizer
void BindLiveStream(pybind11::module_* module);  // LiveStream

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_BINDINGS_H_
