#include "tools/decode/input/kaldi_table.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr char kWhiteSpace[] = " \t\r\v\f";
constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";
// Bytes. A file that is not a table may have no line ends.
constexpr std::streamsize kMaxLineSize = 1 << 16;

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

[[noreturn]] void FailForm(const std::string& place, const std::string& what,
                           const std::string& form) {
  throw std::runtime_error(place + what + ", expected '" + form + "'");
}

KaldiLine ParseLine(const std::string& line, const std::string& place, const std::string& form) {
  const std::string text = Trim(line);
  if (text.empty()) FailForm(place, "empty line", form);
  const size_t id_end = std::min(text.find_first_of(kWhiteSpace), text.size());
  KaldiLine parsed{text.substr(0, id_end), Trim(text.substr(id_end)), place};
  if (!IsUtf8(parsed.id) || std::any_of(parsed.id.begin(), parsed.id.end(), IsControl)) {
    throw std::runtime_error(place + "the id is not UTF-8 text without control characters");
  }
  return parsed;
}

}  // namespace

std::vector<KaldiLine> ReadKaldiTable(const std::string& path, const std::string& form) {
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::vector<KaldiLine> lines;
  std::map<std::string, size_t> line_of_id;
  std::vector<char> buffer(kMaxLineSize);
  for (size_t number = 1; file.getline(buffer.data(), kMaxLineSize) || file.gcount() > 0;
       ++number) {
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (file.fail()) {
      FailForm(place, "longer than " + std::to_string(kMaxLineSize) + " bytes", form);
    }
    std::string line(buffer.data(), static_cast<size_t>(file.gcount() - (file.eof() ? 0 : 1)));
    if (line.find('\0') != std::string::npos) throw std::runtime_error(place + "is not text");
    if (number == 1 && line.compare(0, 3, kByteOrderMark) == 0) line.erase(0, 3);
    KaldiLine parsed = ParseLine(line, place, form);
    const auto [same_id, is_new] = line_of_id.emplace(parsed.id, number);
    if (!is_new) {
      throw std::runtime_error(place + "id '" + parsed.id + "' is already used in line " +
                               std::to_string(same_id->second));
    }
    lines.push_back(std::move(parsed));
  }
  if (file.bad()) throw std::runtime_error(path + ": cannot read: " + std::strerror(errno));
  return lines;
}

}  // namespace runnel
