#include "tools/decode/input/recording_list.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "runtime/text/utf8.h"
#include "tools/decode/input/kaldi_table.h"

namespace runnel {
namespace {

// Makes an id of a file name, which may hold any bytes. Ids are UTF-8 without white space, which
// ends them in Kaldi's tables, or control characters, which terminals obey.
std::string AsId(std::string name) {
  const bool is_text = IsUtf8(name);
  for (char& c : name) {
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    if (c == ' ' || IsControl(c) || (!is_ascii && !is_text)) c = '_';
  }
  return name;
}

std::string Stem(const std::string& path) {
  if (path == "-") return "stdin";
  return AsId(std::filesystem::u8path(path).stem().u8string());
}

}  // namespace

std::vector<Recording> RecordingsFromPaths(const std::vector<std::string>& paths) {
  std::vector<Recording> recordings;
  for (const std::string& path : paths) recordings.push_back({Stem(path), path});
  std::map<std::string, int> uses;
  for (const Recording& recording : recordings) ++uses[recording.id];
  std::set<std::string> ids;
  for (Recording& recording : recordings) {
    if (uses[recording.id] > 1) recording.id = AsId(recording.path);
    if (!ids.insert(recording.id).second) {
      throw std::invalid_argument(recording.path +
                                  " is given twice, or with another file that would have its id");
    }
  }
  return recordings;
}

std::vector<Recording> ReadRecordingList(const std::string& list_path) {
  std::vector<Recording> recordings;
  bool reads_stdin = false;
  for (const KaldiLine& line : ReadKaldiTable(list_path, "id path")) {
    if (line.value.empty()) {
      throw std::runtime_error(line.place + "'" + line.id + "' has no path, expected 'id path'");
    }
    if (line.value.back() == '|') {
      throw std::runtime_error(line.place + "'" + line.value +
                               "' is a command; only files are supported, run it beforehand");
    }
    if (line.value == "-" && std::exchange(reads_stdin, true)) {
      throw std::runtime_error(line.place + "standard input is listed twice");
    }
    recordings.push_back({line.id, line.value});
  }
  if (recordings.empty()) throw std::runtime_error(list_path + ": lists no recordings");
  return recordings;
}

bool HasStandardInput(const std::vector<Recording>& recordings) {
  return std::any_of(recordings.begin(), recordings.end(),
                     [](const Recording& recording) { return recording.path == "-"; });
}

}  // namespace runnel
