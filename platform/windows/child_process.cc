// Nothing for Windows needs it so far: there is no media_decoder.
#include "platform/child_process.h"

#include <cerrno>
#include <system_error>

namespace runnel {

bool CanStartPrograms() { return false; }

ChildProcess::ChildProcess(std::vector<std::string> /*words*/,
                           std::vector<std::string> /*environment*/, int /*input*/, int /*output*/,
                           int /*errors*/) {
  throw std::system_error(ENOSYS, std::generic_category());
}

ChildProcess::~ChildProcess() = default;

std::optional<ProcessEnd> ChildProcess::WaitForEnd() { return std::nullopt; }

}  // namespace runnel
