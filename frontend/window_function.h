// The window functions by name: part of Fbank, not meant for callers outside the frontend.

#ifndef RUNNEL_FRONTEND_WINDOW_FUNCTION_H_
#define RUNNEL_FRONTEND_WINDOW_FUNCTION_H_

#include <string>
#include <vector>

#include "frontend/fbank_options.h"

namespace runnel {

// The accepted names, for messages: "povey, hanning, ...".
std::string WindowTypes();
bool IsWindowType(const std::string& name);

// The window of `options`: FrameLengthSamples() factors, symmetric (the last equals the first),
// computed in double precision as in Kaldi (feature-window.cc). Expects valid options.
std::vector<float> MakeWindow(const FbankOptions& options);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_WINDOW_FUNCTION_H_
