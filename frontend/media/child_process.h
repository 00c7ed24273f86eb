// Starts a program and ends it.
#ifndef RUNNEL_FRONTEND_MEDIA_CHILD_PROCESS_H_
#define RUNNEL_FRONTEND_MEDIA_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/media/file_descriptor.h"

namespace runnel {

// How a process has ended.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;  // of the signal, or the exit status
};

// A process, which is killed when its ChildProcess is destroyed. The program that starts it may
// wait for all of its children, or ignore SIGCHLD: no other process is ever killed in its place.
// One thread at a time.
class ChildProcess {
 public:
  // `words`: the path of the program and its arguments. `environment`: "NAME=value" each. `input`
  // and `output` become its descriptors 0 and 1; an input of -1 is empty. Throws std::system_error.
  ChildProcess(std::vector<std::string> words, std::vector<std::string> environment, int input,
               int output);
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
  // As waitid.
  int Wait(int options, siginfo_t* info) const;

  pid_t pid_ = -1;
  // Of the process (pidfd); none: the kernel has none, or the process is gone.
  FileDescriptor handle_{-1};
  bool is_gone_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_CHILD_PROCESS_H_
