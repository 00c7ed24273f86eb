// Why libsndfile could not open a file. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_SNDFILE_ERRORS_H_
#define RUNNEL_FRONTEND_SNDFILE_ERRORS_H_

#include <mutex>

namespace runnel {

// libsndfile has one variable in the process for it, which sf_error(nullptr) and
// sf_strerror(nullptr) read. Whoever opens a file holds this lock until it has read them. A WAV
// stream from a pipe is opened without it, because it may wait: the reason of another failure at
// the same moment may then be wrong.
inline std::unique_lock<std::mutex> LockSndfileErrors() {
  static std::mutex mutex;
  return std::unique_lock<std::mutex>(mutex);
}

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_SNDFILE_ERRORS_H_
