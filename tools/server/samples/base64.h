// Audio in JSON: base64 (RFC 4648, section 4).
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace runnel::server {

// The bytes that `text` stands for. Empty when it is not base64: white space, other characters and
// missing padding are not accepted.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_BASE64_H_
