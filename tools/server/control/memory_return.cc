#include "tools/server/control/memory_return.h"

#include <malloc.h>

#include <algorithm>

namespace runnel::server {
namespace {

constexpr size_t kMuch = size_t{32} << 20;

size_t FreeBytes() { return ::mallinfo2().fordblks; }

}  // namespace

void MemoryReturn::Run() {
  const size_t num_free = FreeBytes();
  num_kept_ = std::min(num_kept_, num_free);
  if (num_free < num_kept_ + kMuch) return;
  ::malloc_trim(0);
  num_kept_ = FreeBytes();
}

}  // namespace runnel::server
