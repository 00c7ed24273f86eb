// Tags that programs put before, between and behind recordings.
#ifndef RUNNEL_FRONTEND_MEDIA_TAGS_H_
#define RUNNEL_FRONTEND_MEDIA_TAGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace runnel {

// As many bytes tell a tag and its size.
constexpr size_t kTagHeadBytes = 32;

// The bytes of the tag that `begin` begins with: ID3v1, ID3v2, or APE with a header. 0: there is
// none, or its head is not whole.
uint64_t TagBytes(std::string_view begin);

// `read`: the bytes of a file from `offset` on, fewer than `size` at its end.
using ReadFileBytes = std::function<std::string(uint64_t offset, size_t size)>;

// Where the tags begin that end at the end of a file of `size` bytes: ID3v1, ID3v2 with a footer,
// APE, Lyrics3. `size`: there are none.
uint64_t TagsAtEnd(uint64_t size, const ReadFileBytes& read);

// Whether `bytes` are nothing but tags, one behind the other.
bool AreTags(std::string_view bytes);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_TAGS_H_
