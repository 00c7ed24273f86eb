// Kaldi's tables of text, such as wav.scp and text: an id and a value per line.
#ifndef RUNNEL_TOOLS_DECODE_INPUT_KALDI_TABLE_H_
#define RUNNEL_TOOLS_DECODE_INPUT_KALDI_TABLE_H_

#include <string>
#include <vector>

namespace runnel {

struct KaldiLine {
  std::string id;     // UTF-8 without white space or control characters
  std::string value;  // without white space at its ends; may be empty, and any bytes but NUL
  std::string place;  // "file:line: ", for error messages
};

// Reads all lines, LF or CRLF. The file may begin with a byte order mark. `form`: what a line is,
// for example "id path". Throws std::runtime_error, which names the file and the line, for an empty
// or overlong line, an id that is not text or occurs twice, and a file that cannot be read.
std::vector<KaldiLine> ReadKaldiTable(const std::string& path, const std::string& form);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_INPUT_KALDI_TABLE_H_
