#include "frontend/audio_format.h"

#include <sndfile.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "frontend/media/tags.h"
#include "frontend/sndfile_errors.h"
#include "platform/file_descriptor.h"

namespace runnel {
namespace {

// A file in memory, as libsndfile reads it.
struct BytesInMemory {
  const std::string& bytes;
  sf_count_t position = 0;

  sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
};

sf_count_t Seek(sf_count_t offset, int whence, void* file) {
  auto* const memory = static_cast<BytesInMemory*>(file);
  if (whence == SEEK_CUR) offset += memory->position;
  if (whence == SEEK_END) offset += memory->size();
  if (offset < 0) return -1;
  memory->position = offset;
  return offset;
}

sf_count_t Read(void* buffer, sf_count_t size, void* file) {
  auto* const memory = static_cast<BytesInMemory*>(file);
  const sf_count_t count =
      std::min(size, std::max<sf_count_t>(memory->size() - memory->position, 0));
  if (count == 0) return 0;
  std::memcpy(buffer, memory->bytes.data() + memory->position, static_cast<size_t>(count));
  memory->position += count;
  return count;
}

unsigned ByteAt(const std::string& bytes, size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

// A file of MPEG audio is whatever begins like its first frame.
const Container* Find(std::string_view start) {
  const ContainerMatch found = MatchContainer(start, /*num_frames=*/1);
  return found.match == Match::kYes ? found.container : nullptr;
}

bool IsMedia(const Container* container) {
  return container != nullptr && container->demuxer != nullptr && !container->is_for_libsndfile;
}

}  // namespace

const char* const kCommonFormats =
    "WAV, FLAC, MP3, MP4 or M4A, WebM, Ogg, AAC, AMR, MPEG-TS, AVI, FLV, WMA, AIFF, AU, CAF, W64, "
    "VOC or NIST SPHERE";

off_t SkipTags(int fd, off_t begin) {
  constexpr size_t kBlock = 1 << 16;
  for (;;) {
    const std::string block = ReadAt(fd, begin, kBlock);
    uint64_t at = 0;
    while (at + kTagHeadBytes <= block.size()) {
      const uint64_t size = TagBytes(std::string_view(block).substr(at));
      if (size == 0) return begin + static_cast<off_t>(at);
      at += size;
    }
    begin += static_cast<off_t>(at);
    if (at == 0) return begin;  // too few bytes for a tag
  }
}

bool IsSampleDump(int fd, off_t begin) {
  const std::string start = ReadAt(fd, begin, 4);
  return ByteAt(start, 0) == 0xF0 && ByteAt(start, 1) == 0x7E && ByteAt(start, 2) < 0x80 &&
         ByteAt(start, 3) == 0x01;
}

const Container* FileContainer(int fd, off_t begin) {
  return Find(ReadAt(fd, begin, kMostStartBytes));
}

bool MayBeMedia(const std::string& start) {
  const ContainerMatch found = MatchContainer(start, /*num_frames=*/1);
  return found.match == Match::kMaybe || IsMedia(found.container);
}

bool MayBeAudio(const std::string& start) {
  // The two formats that libsndfile does not recognise by their first bytes alone: tags, behind
  // which a FLAC or MPEG stream may begin, and HTK, for which it compares the length of the file.
  // Of HTK, these are the sizes of a sample, 2 bytes, and the kind of a parameter, 0: waveform.
  if (start.compare(0, 3, "ID3") == 0) return true;
  if (start.size() >= 12 && start.compare(8, 4, "\0\2\0\0", 4) == 0) return true;

  BytesInMemory file{start};
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* memory) { return static_cast<BytesInMemory*>(memory)->size(); };
  io.seek = Seek;
  io.read = Read;
  io.tell = [](void* memory) { return static_cast<BytesInMemory*>(memory)->position; };
  SF_INFO info = {};
  const auto lock = LockSndfileErrors();
  SNDFILE* const opened = sf_open_virtual(&io, SFM_READ, &info, &file);
  if (opened == nullptr) return sf_error(nullptr) != SF_ERR_UNRECOGNISED_FORMAT;
  sf_close(opened);
  return true;
}

}  // namespace runnel
