#include "tools/decode/recording_list.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr char kWhiteSpace[] = " \t\r\v\f";
constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";
// Bytes. A file that is not a list may have no line ends.
constexpr std::streamsize kMaxLineSize = 1 << 16;

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7F;
}

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
  return AsId(std::filesystem::path(path).stem().string());
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

Recording ParseLine(const std::string& line, const std::string& place) {
  const std::string text = Trim(line);
  if (text.empty()) throw std::runtime_error(place + "empty line, expected 'id path'");
  const size_t id_end = text.find_first_of(kWhiteSpace);
  if (id_end == std::string::npos) {
    throw std::runtime_error(place + "'" + text + "' has no path, expected 'id path'");
  }
  Recording recording{text.substr(0, id_end), Trim(text.substr(id_end))};
  if (!IsUtf8(recording.id) || std::any_of(recording.id.begin(), recording.id.end(), IsControl)) {
    throw std::runtime_error(place + "the id is not UTF-8 text without control characters");
  }
  if (recording.path.back() == '|') {
    throw std::runtime_error(place + "'" + recording.path +
                             "' is a command; only files are supported, run it beforehand");
  }
  return recording;
}

}  // namespace

std::vector<Recording> RecordingsFromPaths(const std::string& paths) {
  std::vector<Recording> recordings;
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(',', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    if (path.empty()) {
      throw std::invalid_argument("--wav is '" + paths + "', expected file names between commas");
    }
    recordings.push_back({Stem(path), path});
    begin = end + 1;
  }
  std::map<std::string, int> uses;
  for (const Recording& recording : recordings) ++uses[recording.id];
  std::set<std::string> ids;
  for (Recording& recording : recordings) {
    if (uses[recording.id] > 1) recording.id = AsId(recording.path);
    if (!ids.insert(recording.id).second) {
      throw std::invalid_argument("--wav lists " + recording.path +
                                  " twice, or another file that would have its id");
    }
  }
  return recordings;
}

std::vector<Recording> ReadRecordingList(const std::string& list_path) {
  std::ifstream file(list_path);
  if (!file) throw std::runtime_error(list_path + ": cannot open: " + std::strerror(errno));
  std::vector<Recording> recordings;
  std::map<std::string, size_t> line_of_id;
  bool reads_stdin = false;
  std::vector<char> buffer(kMaxLineSize);
  for (size_t number = 1; file.getline(buffer.data(), kMaxLineSize) || file.gcount() > 0;
       ++number) {
    const std::string place = list_path + ":" + std::to_string(number) + ": ";
    if (file.fail()) {
      throw std::runtime_error(place + "longer than " + std::to_string(kMaxLineSize) +
                               " bytes, expected 'id path'");
    }
    std::string line(buffer.data(), static_cast<size_t>(file.gcount() - (file.eof() ? 0 : 1)));
    if (line.find('\0') != std::string::npos) throw std::runtime_error(place + "is not text");
    if (number == 1 && line.compare(0, 3, kByteOrderMark) == 0) line.erase(0, 3);
    Recording recording = ParseLine(line, place);
    const auto [same_id, is_new] = line_of_id.emplace(recording.id, number);
    if (!is_new) {
      throw std::runtime_error(place + "id '" + recording.id + "' is already used in line " +
                               std::to_string(same_id->second));
    }
    if (recording.path == "-" && std::exchange(reads_stdin, true)) {
      throw std::runtime_error(place + "standard input is listed twice");
    }
    recordings.push_back(std::move(recording));
  }
  if (file.bad()) throw std::runtime_error(list_path + ": cannot read: " + std::strerror(errno));
  if (recordings.empty()) throw std::runtime_error(list_path + ": lists no recordings");
  return recordings;
}

bool HasStandardInput(const std::vector<Recording>& recordings) {
  return std::any_of(recordings.begin(), recordings.end(),
                     [](const Recording& recording) { return recording.path == "-"; });
}

}  // namespace runnel
