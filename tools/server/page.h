// The web page, compiled into the server: the files of tools/server/page/.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_PAGE_H_
#define RUNNEL_TOOLS_SERVER_PAGE_H_

#include <string_view>
#include <vector>

namespace runnel::server {

struct PageFile {
  std::string_view path;  // in URLs: "/app.js"; of index.html: "/"
  std::string_view content_type;
  std::string_view bytes;
};

// Written by embed_page.cmake when the server is built.
const std::vector<PageFile>& PageFiles();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PAGE_H_
