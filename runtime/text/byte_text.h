// UTF-8 that comes byte by byte, as the byte pieces of SentencePiece.
#ifndef RUNNEL_RUNTIME_TEXT_BYTE_TEXT_H_
#define RUNNEL_RUNTIME_TEXT_BYTE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace runnel {

// U+FFFD in place of a byte that belongs to no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The first character of some bytes.
struct DecodedCharacter {
  std::string text;      // as kReplacementCharacter when the first byte belongs to none
  size_t num_bytes = 0;  // that it takes; 0: there are no bytes, or more of them may complete it
};

// Decodes as SentencePiece does: where no character begins, one byte is replaced.
DecodedCharacter FirstCharacter(std::string_view bytes);

// The same for bytes that no other follows: an unfinished character is no character.
DecodedCharacter FirstCharacterOfAll(std::string_view bytes);

// The byte that a token such as <0xE4> stands for, -1 for other names.
int ByteOfName(std::string_view name);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_BYTE_TEXT_H_
