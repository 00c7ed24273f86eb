// Reads the body of an HTTP form with files: multipart/form-data (RFC 7578, RFC 2046 section 5.1).
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_MULTIPART_FORM_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_MULTIPART_FORM_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::server {

// Limits of a form.
constexpr size_t kMaxFormParts = 1000;
constexpr size_t kMaxPartHeader = 4096;  // bytes

struct FormPart {
  std::string name;
  std::string_view value;  // within the body
};

// The parts in their order. `content_type`: the header of the request. Copies no value. Throws
// std::runtime_error, in one line, when the body is not a whole form or exceeds a limit.
std::vector<FormPart> ReadMultipartForm(std::string_view content_type, std::string_view body);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_MULTIPART_FORM_H_
