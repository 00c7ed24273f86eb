// Classes of Unicode characters that decide where words and their times end.
#ifndef RUNNEL_RUNTIME_TEXT_CHARACTER_CLASS_H_
#define RUNNEL_RUNTIME_TEXT_CHARACTER_CLASS_H_

namespace runnel {

// Whether the character is of a script that is written without spaces between words: Chinese,
// Japanese, Thai, Lao, Myanmar, Khmer. Every such character is a word of its own.
bool IsUnspaced(char32_t character);

// Whether the character is a combining mark of such a script, which is written with the character
// before it, as the vowel signs and tone marks of Thai are.
bool IsUnspacedMark(char32_t character);

// Whether the character is a punctuation mark (general category P of Unicode).
bool IsPunctuation(char32_t character);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_CHARACTER_CLASS_H_
