// The window functions by name: part of the extractors.

#ifndef RUNNEL_FRONTEND_FEATURES_WINDOW_FUNCTION_H_
#define RUNNEL_FRONTEND_FEATURES_WINDOW_FUNCTION_H_

#include <cstddef>
#include <string>
#include <vector>

namespace runnel {

// The accepted names, for messages: "povey, hanning, ...".
std::string WindowTypes();
bool IsWindowType(const std::string& name);

// `length` >= 2 factors, computed in double precision as in Kaldi (feature-window.cc). `periodic`:
// one period of `length` samples, as for a Fourier transform; false: symmetric, the last factor
// equals the first. `blackman_coeff`: shape of "blackman", ignored for the others.
std::vector<float> MakeWindow(const std::string& type, size_t length, bool periodic,
                              double blackman_coeff);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_WINDOW_FUNCTION_H_
