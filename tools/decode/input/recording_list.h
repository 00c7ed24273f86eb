// Lists of recordings: files and the content of --wav_scp as (id, path) pairs.
#ifndef RUNNEL_TOOLS_DECODE_INPUT_RECORDING_LIST_H_
#define RUNNEL_TOOLS_DECODE_INPUT_RECORDING_LIST_H_

#include <string>
#include <vector>

namespace runnel {

// One audio file.
struct Recording {
  std::string id;    // UTF-8 without white space, as in Kaldi's tables, or control characters
  std::string path;  // relative to the current directory; "-": standard input
};

// The id is the file name without folder and extension, "stdin" for "-"; characters that an id
// cannot hold become "_". Files with equal ids have their whole path as id. Throws
// std::invalid_argument on a file listed twice.
std::vector<Recording> RecordingsFromPaths(const std::vector<std::string>& paths);

// Reads a Kaldi wav.scp: "id path" per line, LF or CRLF. Throws std::runtime_error, which names the
// file and the line, for an empty line, a missing path, an id that is not text or occurs twice,
// standard input listed twice, a Kaldi command ("... |"), and a file that cannot be read or is
// empty.
std::vector<Recording> ReadRecordingList(const std::string& list_path);

// Whether a recording is standard input.
bool HasStandardInput(const std::vector<Recording>& recordings);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_INPUT_RECORDING_LIST_H_
