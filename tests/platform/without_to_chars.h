// Included before number_text.cc: as if the standard library had no std::to_chars for real numbers.
#include <charconv>
#include <version>
#undef __cpp_lib_to_chars
