#include "frontend/media/recording_scanner.h"

#include <algorithm>
#include <bitset>
#include <functional>

#include "frontend/media/wav_chunks.h"

namespace runnel {
namespace {

constexpr size_t kFtypAt = 4;  // of MP4's first box, whose first bytes are zeros as silence is

// Frames in a row, which samples practically never look like; more than a block of Matroska holds;
// and behind a tag.
constexpr int kUnmarkedFrames = 8;
constexpr int kUnlacedFrames = 32;
constexpr int kMarkedFrames = 2;
// Each byte of samples may look like a frame's header.
constexpr size_t kMaxFrames = 16;

constexpr unsigned Pair(char first, char second) {
  return static_cast<unsigned>(static_cast<unsigned char>(first)) << 8 |
         static_cast<unsigned char>(second);
}

// The first two bytes of what is looked for; of MP4, those of "ftyp".
class Beginnings {
 public:
  Beginnings() {
    for (const char* const begin : {"RI", "RF", "ri", "fL", "Og", "\x1A\x45", "ft", "#!", "FO",
                                    ".s", "dn", "ca", "NI", "Cr", "\x30\x26", "ID", "A_"}) {
      pairs_.set(Pair(begin[0], begin[1]));
    }
    for (unsigned second = 0xE2; second <= 0xFF; ++second) pairs_.set(0xFF00 | second);
    for (unsigned pair = 0; pair < pairs_.size(); ++pair) {
      if (pairs_[pair]) firsts_.set(pair >> 8);
    }
  }

  // The first position from `at` on where something may begin; the size if there is none.
  size_t Find(std::string_view bytes, size_t at) const {
    const size_t size = bytes.size();
    for (; at + 2 < size; ++at) {
      // Silence and quiet samples have many bytes from 0xF0 on. As the third one of a frame, they
      // would be a bit rate or a sample rate that no recording has. Samples cannot be predicted, so
      // this is one branch.
      const auto is_pair = static_cast<unsigned>(pairs_[Pair(bytes[at], bytes[at + 1])]);
      const auto is_sound = static_cast<unsigned>(bytes[at] != '\xFF') |
                            static_cast<unsigned>((bytes[at + 2] & 0xF0) != 0xF0);
      if ((is_pair & is_sound) != 0) return at;
    }
    for (; at < size; ++at) {
      const bool is_last = at + 1 == size;
      const auto first = static_cast<unsigned char>(bytes[at]);
      if (is_last ? firsts_[first] : pairs_[Pair(bytes[at], bytes[at + 1])]) return at;
    }
    return at;
  }

 private:
  std::bitset<1 << 16> pairs_;
  std::bitset<1 << 8> firsts_;
};

// Whether `frame` is the first frame of an encoder, which says how long the recording is.
bool IsInfoFrame(std::string_view frame) {
  for (const size_t at : {13, 21, 36}) {  // behind the side information
    const std::string_view name = frame.substr(std::min(at, frame.size()), 4);
    if (name == "Xing" || name == "Info" || name == "VBRI") return true;
  }
  return false;
}

// Behind the header of a page and its table of segments.
uint64_t OggPageBytes(std::string_view page) {
  constexpr size_t kNumSegmentsAt = 26;
  const size_t num_segments = static_cast<unsigned char>(page[kNumSegmentsAt]);
  uint64_t size = kNumSegmentsAt + 1 + num_segments;
  for (const char segment : page.substr(kNumSegmentsAt + 1, num_segments)) {
    size += static_cast<unsigned char>(segment);
  }
  return size;
}

bool IsOgg(const Container* container) {
  return container == &kOgg || container == &kOggOpus || container == &kOggVorbis ||
         container == &kOggFlac;
}

}  // namespace

void RecordingScanner::Push(std::string_view bytes) {
  static const Beginnings beginnings;
  num_pushed_ += bytes.size();
  if (found_ != nullptr) return;
  bytes_ += bytes;
  if (is_in_boxes_) WalkBoxes();
  const uint64_t begin = num_pushed_ - bytes_.size();
  auto at = static_cast<size_t>(position_ - begin);
  for (;;) {
    at = beginnings.Find(bytes_, at);
    position_ = begin + at;
    if (at == bytes_.size()) break;
    const std::string_view all = bytes_;
    if (!Look(all.substr(0, at), all.substr(at))) break;
    ++at;
  }
  if (found_ != nullptr) return;
  size_t num_old = at - std::min(at, kBytesBefore);
  if (is_in_boxes_) num_old = static_cast<size_t>(std::min<uint64_t>(num_old, next_box_ - begin));
  bytes_.erase(0, num_old);
}

bool RecordingScanner::Look(std::string_view before, std::string_view begin) {
  begin = begin.substr(0, kRecordingHeadBytes);
  if (begin[0] == '\xFF') return LookForFrame(begin);
  if (begin[0] == 'I') return LookForTag(begin);
  if (begin[0] == 'A') return LookForCodec(before, begin);
  return LookForRecording(before, begin);
}

bool RecordingScanner::LookForRecording(std::string_view before, std::string_view begin) {
  uint64_t at = position_;
  std::string box;
  if (begin[0] == 'f' && begin.size() > 1 && begin[1] == 't') {
    if (before.size() < kFtypAt) return true;
    box = before.substr(before.size() - kFtypAt);
    box += begin;
    begin = box;
    at -= kFtypAt;
  }
  const ContainerMatch match = MatchRecording(before, begin);
  if (match.match == Match::kMaybe) return false;
  if (match.match == Match::kNo || !IsAnother(match.container, at, begin)) {
    return true;
  }
  SetFound(match.container, at);
  return false;
}

// What decoders read on begins at once, as the first recording does.
bool RecordingScanner::IsAnother(const Container* container, uint64_t at, std::string_view begin) {
  if (IsOgg(container) && IsOgg(first_)) {
    // Streams beside each other, such as of a film, all begin before their other pages.
    const bool is_beside = at == first_pages_end_;
    first_pages_end_ = at + OggPageBytes(begin);
    if (codec_ == nullptr && container != &kOgg) codec_ = container;
    return !is_beside && container != codec_ && container != &kOgg;
  }
  if (container == &kMatroska) {
    expects_codec_ = true;
    file_at_ = at;
  }
  const bool is_read_on = container == first_ && (first_ == &kMatroska || first_ == &kMp4);
  return at > 0 && !is_read_on;
}

// Matroska's element CodecID.
bool RecordingScanner::LookForCodec(std::string_view before, std::string_view begin) {
  if (first_ != &kMatroska || !expects_codec_ || before.size() < 2) return true;
  const unsigned size = static_cast<unsigned char>(before.back()) & 0x7F;
  const bool is_id = before[before.size() - 2] == '\x86' && (before.back() & '\x80') != 0 &&
                     size > 2 && size < kRecordingHeadBytes && begin[1] == '_';
  if (!is_id) return true;
  if (begin.size() < size) return false;
  const std::string_view id = begin.substr(0, size);
  if (codec_id_.empty()) codec_id_ = id;
  expects_codec_ = false;
  if (codec_id_ == id) return true;
  SetFound(&kMatroska, file_at_);
  return false;
}

void RecordingScanner::WalkBoxes() {
  constexpr size_t kHeaderBytes = 16;
  while (is_in_boxes_ && next_box_ + kHeaderBytes <= num_pushed_) {
    const uint64_t begin = num_pushed_ - bytes_.size();
    const auto header =
        std::string_view(bytes_).substr(static_cast<size_t>(next_box_ - begin), kHeaderBytes);
    uint64_t size = BigEndian(header.substr(0, 4));
    if (size == 0) size = uint64_t{1} << 62;  // up to the end
    if (size == 1) size = BigEndian(header.substr(8, 8));
    is_in_boxes_ = IsChunkId(header.substr(4, 4)) && size >= 8 && size <= uint64_t{1} << 62;
    if (is_in_boxes_) next_box_ += size;
    if (next_box_ > uint64_t{1} << 62) return;
  }
}

RecordingScanner::Frames* RecordingScanner::FramesAt(uint64_t position) {
  const auto is_past = [position](const Frames& frames) { return frames.next < position; };
  frames_.erase(std::remove_if(frames_.begin(), frames_.end(), is_past), frames_.end());
  const auto found = std::find_if(frames_.begin(), frames_.end(), [position](const Frames& frames) {
    return frames.next == position;
  });
  return found == frames_.end() ? nullptr : &*found;
}

bool RecordingScanner::LookForTag(std::string_view begin) {
  if (begin.size() < kId3HeaderBytes) return false;
  const uint64_t size = Id3TagBytes(begin);
  const std::string_view size_bytes = begin.substr(6, 4);
  const bool is_tag = size > 0 && std::all_of(size_bytes.begin(), size_bytes.end(),
                                              [](char byte) { return (byte & '\x80') == 0; });
  if (!is_tag) return true;
  Frames* frames = FramesAt(position_);
  if (frames == nullptr) {
    if (frames_.size() == kMaxFrames) frames_.erase(frames_.begin());
    frames = &frames_.emplace_back();
    frames->begin = position_;
    frames->is_marked = true;
  }
  frames->next = position_ + size;
  return true;
}

bool RecordingScanner::IsSure(const Frames& frames, const Container* container) const {
  if (frames.begin == 0) return false;  // a tag before the first recording
  if (frames.is_marked) return frames.count >= kMarkedFrames;
  int least = kUnmarkedFrames;
  if (container == &kMp3) {
    // Blocks of Matroska, samples of MP4 and of WAV may be frames of MP3.
    if (first_ == &kMatroska) least = kUnlacedFrames;
    if (first_ == &kMp4 && (is_in_boxes_ || frames.begin < next_box_)) return false;
    if (first_ == &kWav) return false;
  }
  return frames.count >= least;
}

bool RecordingScanner::LookForFrame(std::string_view begin) {
  if (begin.size() < kMpegHeaderBytes) return false;
  const MpegFrame frame = ReadMpegFrame(begin);
  if (frame.size == 0 || frame.container == first_) return true;
  if (begin.size() < kRecordingHeadBytes) return false;
  // The samples of MP4 may be frames of MP3 too.
  if (first_ == &kMp4 && !is_in_boxes_ && position_ == next_box_) frames_.clear();
  const size_t digest = std::hash<std::string_view>()(begin.substr(kMpegHeaderBytes));
  Frames* frames = FramesAt(position_);
  if (frames == nullptr || (frames->count > 0 && frames->kind != frame.kind)) {
    if (frames_.size() == kMaxFrames) return true;
    frames = &frames_.emplace_back();
    frames->begin = position_;
  }
  if (frames->count == 0 || frames->digest != digest) ++frames->count;
  frames->next = position_ + frame.size;
  frames->kind = frame.kind;
  frames->digest = digest;
  frames->is_marked = frames->is_marked || IsInfoFrame(begin);
  if (!IsSure(*frames, frame.container)) return true;
  SetFound(frame.container, frames->begin);
  return false;
}

void RecordingScanner::SetFound(const Container* container, uint64_t at) {
  found_ = container;
  found_at_ = at;
  bytes_ = std::string();
}

}  // namespace runnel
