// Gives memory that the allocator keeps back to the operating system.
#ifndef RUNNEL_TOOLS_SERVER_CONTROL_MEMORY_RETURN_H_
#define RUNNEL_TOOLS_SERVER_CONTROL_MEMORY_RETURN_H_

#include <cstddef>

namespace runnel::server {

// The allocator keeps what is freed, and so the most that clients ever took. Used by one thread at
// a time.
class MemoryReturn {
 public:
  // To be called now and then. Returns memory when much more of it has become free since the last
  // time: allocations then wait for some milliseconds.
  void Run();

 private:
  size_t num_kept_ = 0;  // bytes that the allocator counts as free although they were returned
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONTROL_MEMORY_RETURN_H_
