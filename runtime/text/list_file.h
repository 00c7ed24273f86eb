// Lists that users write, with an entry per line: word lists and hotwords.
#ifndef RUNNEL_RUNTIME_TEXT_LIST_FILE_H_
#define RUNNEL_RUNTIME_TEXT_LIST_FILE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace runnel {

// What a list holds, for its limit and its error messages.
struct ListFormat {
  size_t max_size;      // of the text, in bytes
  const char* entries;  // e.g. "words"
  const char* line;     // what a line is, e.g. "'WORD' or 'WORD token token ...'"
};

// The fields of an entry, separated by spaces or tabs; at least one.
using ListFields = std::vector<std::string_view>;

// Calls `read` with the fields of each line in turn, except for empty lines and lines that begin
// with #. Lines may end in CRLF, and the text may begin with a byte order mark. Throws
// std::runtime_error "source:line: what is wrong" for a line that is not text or for which `read`
// throws a std::runtime_error, and one naming `source` when the text is too large or has no entry.
void ReadList(const std::string& text, const ListFormat& format, const std::string& source,
              const std::function<void(const ListFields&)>& read);

// The text of a list. Throws std::runtime_error when the file cannot be read or is too large.
std::string ReadListFile(const std::string& path, const ListFormat& format);

// The message about a list that is too large.
std::string ListTooLarge(const std::string& source, const ListFormat& format);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_LIST_FILE_H_
