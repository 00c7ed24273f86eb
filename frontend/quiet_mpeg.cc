// libmpg123, by which libsndfile reads MP3, writes notes about damaged files to standard error, and
// libsndfile has no option against that. This file defines libmpg123's constructor of decoders, so
// that a program finds it before libmpg123's own: it makes each decoder quiet.
#include <dlfcn.h>

// mpg123_handle of mpg123.h, which libsndfile does not need to be installed with.
struct mpg123_handle_struct;

extern "C" __attribute__((visibility("default"))) mpg123_handle_struct* mpg123_new(
    const char* decoder, int* error) {
  constexpr int kAddFlags = 2;   // MPG123_ADD_FLAGS
  constexpr long kQuiet = 0x20;  // MPG123_QUIET; NOLINT(google-runtime-int)
  using New = mpg123_handle_struct* (*)(const char*, int*);
  using Set = int (*)(mpg123_handle_struct*, int, long, double);  // NOLINT(google-runtime-int)
  const auto make = reinterpret_cast<New>(::dlsym(RTLD_NEXT, "mpg123_new"));
  const auto set = reinterpret_cast<Set>(::dlsym(RTLD_NEXT, "mpg123_param2"));
  mpg123_handle_struct* const handle = make == nullptr ? nullptr : make(decoder, error);
  if (handle != nullptr && set != nullptr) set(handle, kAddFlags, kQuiet, 0);
  return handle;
}
