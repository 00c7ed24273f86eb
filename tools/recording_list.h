// Which recordings a tool works on: the --wav and --wav_scp flags as (id, path) pairs.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_RECORDING_LIST_H_
#define RUNNEL_TOOLS_RECORDING_LIST_H_

#include <string>
#include <vector>

namespace runnel {

// One audio file.
struct Recording {
  std::string id;    // UTF-8 without white space, as in Kaldi's tables, or control characters
  std::string path;  // relative to the current directory; "-": standard input
};

// `paths`: file names separated by commas (name a file that has a comma in a list instead). The id
// is the file's name without folder and extension, "_" for what an id cannot hold, "stdin" for "-";
// files whose ids would be equal get their whole path as id. Throws std::invalid_argument on an
// empty name or a file listed twice.
std::vector<Recording> RecordingsFromPaths(const std::string& paths);

// Reads a Kaldi wav.scp: "id path" per line, LF or CRLF. Throws std::runtime_error naming file and
// line: an empty line, no path, an id that is no text or was used before, standard input twice, a
// Kaldi command ("... |"); and when the file cannot be read or lists nothing.
std::vector<Recording> ReadRecordingList(const std::string& list_path);

// Whether one of them is standard input.
bool HasStandardInput(const std::vector<Recording>& recordings);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_RECORDING_LIST_H_
