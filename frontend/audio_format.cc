#include "frontend/audio_format.h"

#include <sndfile.h>

#include <algorithm>
#include <cstring>

namespace runnel {
namespace {

// A file in memory, as libsndfile reads it.
struct MemoryFile {
  const std::string& bytes;
  sf_count_t position = 0;

  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
};

sf_count_t Seek(sf_count_t offset, int whence, void* file) {
  auto* const memory = static_cast<MemoryFile*>(file);
  if (whence == SEEK_CUR) offset += memory->position;
  if (whence == SEEK_END) offset += memory->size();
  if (offset < 0) return -1;
  memory->position = offset;
  return offset;
}

sf_count_t Read(void* buffer, sf_count_t size, void* file) {
  auto* const memory = static_cast<MemoryFile*>(file);
  const sf_count_t count =
      std::min(size, std::max<sf_count_t>(memory->size() - memory->position, 0));
  if (count == 0) return 0;
  std::memcpy(buffer, memory->bytes.data() + memory->position, static_cast<size_t>(count));
  memory->position += count;
  return count;
}

}  // namespace

bool MayBeAudio(const std::string& start) {
  // The two formats that libsndfile does not recognise by their first bytes alone: tags, behind
  // which a FLAC or MPEG stream may begin, and HTK, for which it compares the length of the file.
  // Of HTK, these are the sizes of a sample, 2 bytes, and the kind of a parameter, 0: waveform.
  if (start.compare(0, 3, "ID3") == 0) return true;
  if (start.size() >= 12 && start.compare(8, 4, "\0\2\0\0", 4) == 0) return true;

  MemoryFile file{start};
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* memory) { return static_cast<MemoryFile*>(memory)->size(); };
  io.seek = Seek;
  io.read = Read;
  io.tell = [](void* memory) { return static_cast<MemoryFile*>(memory)->position; };
  SF_INFO info = {};
  SNDFILE* const opened = sf_open_virtual(&io, SFM_READ, &info, &file);
  if (opened == nullptr) return sf_error(nullptr) != SF_ERR_UNRECOGNISED_FORMAT;
  sf_close(opened);
  return true;
}

}  // namespace runnel
