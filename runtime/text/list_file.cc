#include "runtime/text/list_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr size_t kMaxLineSize = size_t{1} << 16;  // keeps messages, which quote lines, short
constexpr std::string_view kFieldSeparators = " \t";

ListFields SplitFields(std::string_view line) {
  ListFields fields;
  for (size_t begin = line.find_first_not_of(kFieldSeparators); begin != line.npos;) {
    const size_t end = std::min(line.find_first_of(kFieldSeparators, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kFieldSeparators, end);
  }
  return fields;
}

void CheckIsText(std::string_view line, const ListFormat& format) {
  if (line.size() > kMaxLineSize) {
    throw std::runtime_error("longer than " + std::to_string(kMaxLineSize) + " bytes, expected " +
                             format.line);
  }
  if (!IsUtf8(line)) throw std::runtime_error("expected UTF-8, got other bytes");
  const bool has_control =
      std::any_of(line.begin(), line.end(), [](char c) { return c != '\t' && IsControl(c); });
  if (has_control) throw std::runtime_error("expected text, got control characters");
}

}  // namespace

void ReadList(const std::string& text, const ListFormat& format, const std::string& source,
              const std::function<void(const ListFields&)>& read) {
  if (text.size() > format.max_size) throw std::runtime_error(ListTooLarge(source, format));
  std::string_view rest = text;
  bool is_empty = true;
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line = TrimmedLine(line, number == 1);
    try {
      CheckIsText(line, format);
      const ListFields fields = SplitFields(line);
      if (fields.empty() || line.front() == '#') continue;
      read(fields);
      is_empty = false;
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(source + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (is_empty) throw std::runtime_error(source + ": lists no " + format.entries);
}

std::string ReadListFile(const std::string& path, const ListFormat& format) {
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > format.max_size) throw std::runtime_error(ListTooLarge(path, format));
  }
  if (file.bad()) throw std::runtime_error(path + ": cannot read: " + std::strerror(errno));
  return text;
}

std::string ListTooLarge(const std::string& source, const ListFormat& format) {
  return source + ": larger than " + std::to_string(format.max_size) +
         " bytes, expected a list of " + format.entries;
}

}  // namespace runnel
