// Starts a program and ends it.
#ifndef RUNNEL_PLATFORM_CHILD_PROCESS_H_
#define RUNNEL_PLATFORM_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "platform/file_descriptor.h"

namespace runnel {

// Whether ChildProcess works on this system.
bool CanStartPrograms();

// How a process has ended.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  // of the signal, or the exit status
};

// A process, which is killed when its ChildProcess is destroyed. On Linux the program that starts
// it may wait for all of its children, or ignore SIGCHLD: no other process is ever killed in its
// place. One thread at a time.
class ChildProcess {
 public:
  // `words`: the path of the program and its arguments. `environment`: "NAME=value" each. `input`,
  // `output` and `errors` become its descriptors 0 to 2. An input of -1 is empty, and errors of -1
  // are lost. Throws std::system_error.
  ChildProcess(std::vector<std::string> words, std::vector<std::string> environment, int input,
               int output, int errors);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Waits for a process that is about to end, and kills it after a second. No value when it was
  // killed, or another part of the program has waited for it.
  std::optional<ProcessEnd> WaitForEnd();

 private:
  void Open();
  void Kill();

  pid_t pid_ = -1;
  // Of the process (pidfd); none: the system has none, or the process is gone.
  FileDescriptor handle_{-1};
  bool is_gone_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_CHILD_PROCESS_H_
