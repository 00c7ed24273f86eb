#include "tools/first_interrupt.h"

#include <csignal>

namespace runnel {

void OutliveFirstInterrupt() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) {};
  action.sa_flags = SA_RESETHAND | SA_RESTART;  // reading goes on; the next one is the default's
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace runnel
