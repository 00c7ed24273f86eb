// Upper and lower case of Unicode characters, as the system knows them.
#ifndef RUNNEL_PLATFORM_CHARACTER_CASE_H_
#define RUNNEL_PLATFORM_CHARACTER_CASE_H_

#include <memory>

namespace runnel {

// Maps characters one by one, independently of the locale of the process: as the C library does in
// the locale C.UTF-8, or as Windows does in its invariant locale. Immutable: every method may be
// called from several threads.
class CharacterCase {
 public:
  CharacterCase();  // throws std::runtime_error when the system lacks the locale

  char32_t Lower(char32_t character) const;
  char32_t Upper(char32_t character) const;

 private:
  std::shared_ptr<void> locale_;  // where the system has an object of it
};

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_CHARACTER_CASE_H_
