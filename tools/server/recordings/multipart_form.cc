#include "tools/server/recordings/multipart_form.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "runtime/text/printable.h"

namespace runnel::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kMaxBoundary = 70;

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error("the form: " + what); }

bool IsFormSpace(char c) { return c == ' ' || c == '\t'; }

void SkipSpace(std::string_view* text) {
  while (!text->empty() && IsFormSpace(text->front())) text->remove_prefix(1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Where a quoted string ends that begins at the front of `text`. Many clients escape neither
// quotation marks nor backslashes in the names of files, so that only a mark before a semicolon or
// the end of the line ends the string.
size_t EndOfQuoted(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '"') continue;
    std::string_view rest = text.substr(i + 1);
    SkipSpace(&rest);
    if (rest.empty() || rest.front() == ';') return i;
  }
  Fail("a header has a quotation mark that is not closed");
}

std::string Unescaped(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size(); ++i) {
    const char next = i + 1 < quoted.size() ? quoted[i + 1] : '\0';
    if (quoted[i] == '\\' && (next == '"' || next == '\\')) ++i;
    text += quoted[i];
  }
  return text;
}

// The value of a parameter, which is taken from the front of `text`: a quoted string, or all up to
// the next semicolon.
std::string TakeValue(std::string_view* text) {
  if (text->empty() || text->front() != '"') {
    const std::string_view value = text->substr(0, text->find(';'));
    text->remove_prefix(value.size());
    return std::string(value.substr(0, value.find_last_not_of(" \t") + 1));
  }
  const size_t end = EndOfQuoted(*text);
  std::string value = Unescaped(text->substr(1, end - 1));
  text->remove_prefix(end + 1);
  return value;
}

// A header's value `kind; name=value; name="value"`.
struct HeaderValue {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> parameters;

  const std::string* Find(std::string_view name) const {
    for (const auto& [key, value] : parameters) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

HeaderValue ReadHeaderValue(std::string_view text) {
  SkipSpace(&text);
  HeaderValue header;
  const size_t size = std::min(text.find_first_of("; \t"), text.size());
  header.kind = Lower(text.substr(0, size));
  text.remove_prefix(size);
  for (;;) {
    SkipSpace(&text);
    if (text.empty()) return header;
    if (text.front() != ';') Fail("a header has no semicolon between its parameters");
    text.remove_prefix(1);
    SkipSpace(&text);
    if (text.empty()) return header;
    const size_t equals = text.find_first_of("=;");
    if (equals == std::string_view::npos) return header;
    if (text[equals] == ';') {  // the part of a file's name without quotation marks
      text.remove_prefix(equals);
      continue;
    }
    std::string name = Lower(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    header.parameters.emplace_back(std::move(name), TakeValue(&text));
  }
}

std::string BoundaryOf(std::string_view content_type) {
  const HeaderValue header = ReadHeaderValue(content_type);
  if (header.kind != "multipart/form-data") {
    throw std::runtime_error("the content type is " + Quoted(header.kind) +
                             ", expected multipart/form-data");
  }
  const std::string* boundary = header.Find("boundary");
  if (boundary == nullptr || boundary->empty() || boundary->size() > kMaxBoundary ||
      boundary->find('\r') != std::string::npos) {
    Fail("the content type has no boundary of 1 to 70 characters");
  }
  return *boundary;
}

// The name of a part whose header lines are `lines`.
std::string NameIn(std::string_view lines) {
  std::string name;
  bool has_name = false;
  while (!lines.empty()) {
    const size_t end = lines.find(kLineEnd);
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(line.size() + kLineEnd.size(), lines.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) Fail("a line in the header of a part has no colon");
    const std::string field = Lower(line.substr(0, colon));
    const std::string_view value = line.substr(colon + 1);
    if (field == "content-transfer-encoding") {
      const std::string encoding = ReadHeaderValue(value).kind;
      if (encoding != "binary" && encoding != "8bit" && encoding != "7bit") {
        Fail("a part has a transfer encoding, expected bytes as they are");
      }
    }
    if (field != "content-disposition") continue;
    const HeaderValue disposition = ReadHeaderValue(value);
    const std::string* found = disposition.Find("name");
    if (disposition.kind != "form-data" || found == nullptr || has_name) {
      Fail("a part has not one content disposition form-data with a name");
    }
    has_name = true;
    name = *found;
  }
  if (!has_name) Fail("a part has not one content disposition form-data with a name");
  return name;
}

// Takes a part from `rest`, which begins after the line of its boundary, up to its last byte.
FormPart TakePart(std::string_view* rest, const std::string& delimiter) {
  FormPart part;
  if (rest->substr(0, kLineEnd.size()) == kLineEnd) Fail("a part has no header");
  const std::string_view header = rest->substr(0, kMaxPartHeader);
  const size_t header_size = header.find("\r\n\r\n");
  if (header_size == std::string_view::npos) {
    Fail("the header of a part does not end within " + std::to_string(kMaxPartHeader) + " bytes");
  }
  part.name = NameIn(header.substr(0, header_size));
  rest->remove_prefix(header_size + 2 * kLineEnd.size());
  // Linear: only the first character of the delimiter is a carriage return, so that attempts to
  // match it do not overlap.
  const size_t size = rest->find(delimiter);
  if (size == std::string_view::npos) Fail("it ends before its last boundary");
  part.value = rest->substr(0, size);
  rest->remove_prefix(part.value.size() + delimiter.size());
  return part;
}

}  // namespace

std::vector<FormPart> ReadMultipartForm(std::string_view content_type, std::string_view body) {
  // A delimiter begins with the end of the line before it, except at the start of the body. What
  // comes before the first one is no part (RFC 2046, section 5.1.1).
  const std::string delimiter = "\r\n--" + BoundaryOf(content_type);
  const std::string_view first = std::string_view(delimiter).substr(kLineEnd.size());
  size_t begin = first.size();
  if (body.substr(0, begin) != first) {
    const size_t preamble_size = body.find(delimiter);
    if (preamble_size == std::string_view::npos) Fail("it has no boundary");
    begin = preamble_size + delimiter.size();
  }
  std::string_view rest = body.substr(begin);
  std::vector<FormPart> parts;
  for (;;) {
    if (rest.substr(0, 2) == "--") return parts;
    SkipSpace(&rest);
    if (rest.substr(0, kLineEnd.size()) != kLineEnd) Fail("a boundary is not a line of its own");
    rest.remove_prefix(kLineEnd.size());
    if (parts.size() == kMaxFormParts) {
      Fail("it has more than " + std::to_string(kMaxFormParts) + " parts");
    }
    parts.push_back(TakePart(&rest, delimiter));
  }
}

}  // namespace runnel::server
