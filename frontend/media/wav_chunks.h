// The chunks of WAV files, and what may stand behind the samples.
#ifndef RUNNEL_FRONTEND_MEDIA_WAV_CHUNKS_H_
#define RUNNEL_FRONTEND_MEDIA_WAV_CHUNKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace runnel {

struct Container;

constexpr size_t kChunkHeaderBytes = 8;  // the id and the size of the body
constexpr size_t kChunkIdBytes = 4;

// Whether `id`, four bytes, names one of the chunks that programs put into WAV files. Samples
// practically never look like one.
bool IsWavChunk(std::string_view id);

// Whether `id`, four bytes, may name a chunk of any kind: all are printable.
inline bool IsChunkId(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Walks what stands behind the samples of a WAV file, in pieces. Chunks, zeros and tags (ID3) are
// passed over.
// A chunk whose name is not known must have at most 16 MiB and be whole, because bytes of samples
// may look like the header of one.
class WavTail {
 public:
  enum class Found {
    kNothing,    // so far: more bytes tell
    kRecording,  // another recording begins
    kData,       // a second chunk of samples
    kOther       // bytes that are none of these
  };

  // Begins at the samples, which have `data_bytes` bytes.
  explicit WavTail(uint64_t data_bytes)
      : num_to_skip_(data_bytes), may_be_padded_(data_bytes % 2 != 0) {}

  // How many of the next bytes are of the samples or of a chunk. The caller may pass over as many
  // by itself: OnSkipped.
  uint64_t num_to_skip() const { return num_to_skip_; }
  void OnSkipped(uint64_t count) { num_to_skip_ -= count; }

  // Removes from `rest`, the next bytes, what it passes over. With kNothing, the bytes that are
  // left must come again, before further ones. Otherwise they begin what was found.
  Found Read(std::string_view* rest);

  // The same at the end of the file, which may cut off the samples, and a chunk whose name is
  // known. `rest`: what Read has left.
  Found Finish(std::string_view rest) const;
  // How many bytes Finish complains about.
  uint64_t CountAtEnd(std::string_view rest) const {
    return num_to_skip_ > 0 ? chunk_bytes_ - num_to_skip_ : rest.size();
  }

  // With kRecording.
  const Container* recording() const { return recording_; }

 private:
  void PassZeros(std::string_view* rest);
  // These return whether there may be more to pass over.
  bool PassTag(std::string_view rest);
  bool PassPadding(std::string_view* rest);
  bool PassHeader(std::string_view* rest);

  uint64_t num_to_skip_;
  uint64_t chunk_bytes_ = num_to_skip_;  // with its header
  bool is_known_ = true;                 // the name of the present chunk
  bool may_be_padded_;                   // the present chunk has an odd size
  Found found_ = Found::kNothing;
  const Container* recording_ = nullptr;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_WAV_CHUNKS_H_
