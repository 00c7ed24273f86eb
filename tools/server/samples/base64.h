// Audio in JSON: base64 (RFC 4648, section 4).
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::server {

// The bytes that `text` stands for. Empty when it is not base64: white space, other characters and
// missing padding are not accepted.
std::optional<std::string> DecodeBase64(std::string_view text);

// Decodes the characters of a JSON string that holds base64, part by part, where the whole text
// would take several times its memory.
class JsonBase64Reader {
 public:
  // How many of the characters in `rest` the next part has: at most `count`, which is larger than
  // an escape, without a cut in an escape.
  static size_t PartSize(std::string_view rest, size_t count);

  // The bytes that `part` completes. Empty when it is not base64, as in DecodeBase64. `is_last`:
  // nothing follows.
  std::optional<std::string> Decode(std::string_view part, bool is_last);

 private:
  std::string rest_;  // characters after whole groups of four
};

// Whether JsonBase64Reader can decode all of `text`.
bool IsJsonBase64(std::string_view text);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_
