#include "tools/server/resources/message_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace runnel::server {
namespace {

// Memory is given back in steps of this, a multiple of every page size.
constexpr size_t kStep = 65536;

size_t Counted(size_t bytes) { return bytes > MessageBuffer::kFreeBytes ? bytes : 0; }

char* Map(size_t size) {
  void* const data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  ::madvise(data, size, MADV_NOHUGEPAGE);  // a page that is counted as 4 KiB must not take 2 MiB
  return static_cast<char*>(data);
}

}  // namespace

MessageBuffer::MessageBuffer(InputBudget* budget, std::string account)
    : share_(budget, std::move(account)) {}

MessageBuffer::MessageBuffer(InputBudget* budget, std::string account, std::string_view bytes)
    : share_(budget, std::move(account)) {
  share_.Force(Counted(bytes.size()));
  Grow(bytes.size());
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  end_ = bytes.size();
}

MessageBuffer::MessageBuffer(MessageBuffer&& other) noexcept { *this = std::move(other); }

MessageBuffer& MessageBuffer::operator=(MessageBuffer&& other) noexcept {
  Free();
  share_ = std::move(other.share_);
  data_ = std::exchange(other.data_, nullptr);
  capacity_ = std::exchange(other.capacity_, 0);
  begin_ = std::exchange(other.begin_, 0);
  end_ = std::exchange(other.end_, 0);
  num_released_ = std::exchange(other.num_released_, 0);
  return *this;
}

MessageBuffer::~MessageBuffer() { Free(); }

bool MessageBuffer::Reserve(size_t count) {
  const size_t size = end_ + count;
  if (!share_.Resize(Counted(size - num_released_))) return false;
  Grow(size);
  return true;
}

// Memory that was never written to takes none, so doubling costs nothing.
void MessageBuffer::Grow(size_t size) {
  if (size <= capacity_) return;
  const size_t capacity = std::max(size, 2 * capacity_);
  if (capacity <= kFreeBytes) {
    char* const data = static_cast<char*>(std::realloc(data_, capacity));
    if (data == nullptr) throw std::bad_alloc();
    data_ = data;
  } else if (is_mapped()) {
    void* const data = ::mremap(data_, capacity_, capacity, MREMAP_MAYMOVE);
    if (data == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(data);
  } else {
    char* const data = Map(capacity);
    if (end_ > 0) std::memcpy(data, data_, end_);
    std::free(data_);
    data_ = data;
  }
  capacity_ = capacity;
}

void MessageBuffer::Consume(size_t count) {
  begin_ += count;
  const size_t num_released = is_mapped() ? begin_ / kStep * kStep : 0;
  if (num_released == num_released_) return;
  ::madvise(data_ + num_released_, num_released - num_released_, MADV_DONTNEED);
  num_released_ = num_released;
  share_.Resize(Counted(end_ - num_released_));
}

void MessageBuffer::Clear() {
  begin_ = end_ = num_released_ = 0;
  if (is_mapped()) Free();
  share_.Resize(0);
}

void MessageBuffer::Free() {
  if (is_mapped()) {
    ::munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace runnel::server
