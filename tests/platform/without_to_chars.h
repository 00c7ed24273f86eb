// Included before number_text.cc: as if the standard library had no std::to_chars for real numbers.
#include <charconv>
#include <version>
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreserved-macro-identifier"  // the standard chose the name
#endif
#undef __cpp_lib_to_chars
