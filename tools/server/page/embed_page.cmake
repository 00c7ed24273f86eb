# Writes OUTPUT, the C++ source of PageFiles() (page_files.h), from FILES (a list):
#   cmake -D OUTPUT=page_files.cc -D "FILES=index.html;app.js" -P embed_page.cmake
set(types .html text/html .js text/javascript .css text/css .svg image/svg+xml)
set(arrays "")
set(entries "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  get_filename_component(extension "${file}" LAST_EXT)
  list(FIND types "${extension}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${file}: no content type is known for '${extension}'")
  endif()
  math(EXPR found "${found} + 1")
  list(GET types ${found} type)
  if(extension MATCHES "^[.](html|js|css)$")
    string(APPEND type "; charset=utf-8")
  endif()
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND entries "      {\"${path}\", \"${type}\", Bytes(kFile${number}, ${size})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Written by embed_page.cmake.
#include \"tools/server/page/page_files.h\"

namespace runnel::server {
namespace {

${arrays}
std::string_view Bytes(const unsigned char* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

const std::vector<PageFile>& PageFiles() {
  static const std::vector<PageFile> files = {
${entries}  };
  return files;
}

}  // namespace runnel::server
")
