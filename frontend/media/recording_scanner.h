// Finds the beginning of another recording behind the first.
#ifndef RUNNEL_FRONTEND_MEDIA_RECORDING_SCANNER_H_
#define RUNNEL_FRONTEND_MEDIA_RECORDING_SCANNER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/media/container.h"

namespace runnel {

// Looks for recordings, in the containers of MatchRecording and of MPEG audio, in an input that
// comes in pieces cut anywhere. What an element of the first recording holds (ElementBytes), such
// as a picture or a frame of another container's kind, is part of it and not looked at. What
// decoders of the first container read on is not another recording: Ogg and WebM with the same
// codec, MP3 and AAC behind their own kind. MP4 behind MP4 is left to its decoder. One thread at a
// time.
class RecordingScanner {
 public:
  // `first`: the container of the recording that the input begins with; null: another one.
  explicit RecordingScanner(const Container* first)
      : first_(first), in_elements_(first != nullptr) {}

  // The next bytes, beginning with the first of the input. After something was found, nothing more
  // is looked for.
  void Push(std::string_view bytes);

  // The container of the other recording; null: none so far.
  const Container* found() const { return found_; }
  // The offset of its first byte in the input.
  uint64_t found_at() const { return found_at_; }

  // The number of the bytes before those which may begin a recording. A few bytes may be, until
  // more come.
  uint64_t num_clear() const { return std::min(position_, num_pushed_); }

 private:
  // Frames of MPEG audio, each of which begins where the last one ends.
  struct Frames {
    uint64_t begin = 0;  // of the tag before them, if there is one
    uint64_t next = 0;
    int count = 0;  // of those that are unlike the one before: a tone is not MPEG audio
    unsigned kind = 0;
    size_t digest = 0;
    bool is_marked = false;  // by a tag, or by the frame of an encoder
  };

  // Passes over the element at position_. False when more bytes tell, or when something was found.
  bool PassElement();
  void ReadElement(std::string_view element);
  // Whether elements go on at position_; no value: more bytes tell.
  std::optional<bool> MayGoOn(std::string_view rest) const;
  // At position_. False when more bytes tell, or when something was found.
  bool Look(std::string_view before, std::string_view begin);
  bool LookForRecording(std::string_view before, std::string_view begin);
  bool LookForTag(std::string_view begin);
  bool LookForFrame(std::string_view begin);
  bool IsSure(const Frames& frames, const Container* container) const;
  void ReadCodec(std::string_view tracks);
  bool IsAnother(const Container* container, uint64_t at, std::string_view begin);
  Frames* FramesAt(uint64_t position);
  void SetFound(const Container* container, uint64_t at);

  const Container* const first_;
  bool in_elements_;       // an element of the first recording begins at position_
  std::string bytes_;      // the last of the input
  uint64_t position_ = 0;  // of the next byte to look at; it may not have come yet
  uint64_t num_pushed_ = 0;
  std::vector<Frames> frames_;
  // Of Ogg.
  const Container* codec_ = nullptr;  // of the first stream
  uint64_t first_pages_end_ = 0;      // of the pages that begin streams beside each other
  // Of Matroska.
  std::string codec_id_;  // of the first file
  uint64_t file_at_ = 0;  // the present file

  const Container* found_ = nullptr;
  uint64_t found_at_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_RECORDING_SCANNER_H_
