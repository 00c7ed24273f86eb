// The files of the web page in this folder, compiled into the server.
#ifndef RUNNEL_TOOLS_SERVER_PAGE_PAGE_FILES_H_
#define RUNNEL_TOOLS_SERVER_PAGE_PAGE_FILES_H_

#include <string_view>
#include <vector>

namespace runnel::server {

struct PageFile {
  std::string_view path;  // of the URL, e.g. "/app.js"; "/" for index.html
  std::string_view content_type;
  std::string_view bytes;
};

// Defined in page_files.cc, which embed_page.cmake writes when the server is built.
const std::vector<PageFile>& PageFiles();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PAGE_PAGE_FILES_H_
