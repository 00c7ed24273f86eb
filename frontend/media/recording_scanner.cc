#include "frontend/media/recording_scanner.h"

#include <algorithm>
#include <bitset>
#include <functional>

#include "frontend/media/elements.h"

namespace runnel {
namespace {

constexpr size_t kFtypAt = 4;  // of MP4's first box, whose first bytes are zeros as silence is

// Frames in a row, which samples practically never look like; and behind a tag.
constexpr int kUnmarkedFrames = 8;
constexpr int kMarkedFrames = 2;
// Each byte of samples may look like a frame's header.
constexpr size_t kMaxFrames = 16;

constexpr unsigned Pair(char first, char second) {
  return static_cast<unsigned>(static_cast<unsigned char>(first)) << 8 |
         static_cast<unsigned char>(second);
}

// The first two bytes of what is looked for; of MP4, those of "ftyp". Also of a cluster of
// Matroska.
class Beginnings {
 public:
  Beginnings() {
    for (const char* const begin :
         {"RI", "RF", "ri", "fL", "Og", "\x1A\x45", "ft", "#!", "FO", ".s", "dn", "ca", "NI", "Cr",
          "FL", "\x30\x26", "ID", "\x1F\x43"}) {
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
  const uint64_t begin = num_pushed_ - bytes_.size();
  for (;;) {
    if (in_elements_) {
      if (!PassElement()) break;
      continue;
    }
    const size_t at = beginnings.Find(bytes_, static_cast<size_t>(position_ - begin));
    position_ = begin + at;
    if (at == bytes_.size()) break;
    const std::string_view all = bytes_;
    const std::optional<bool> may_go_on = MayGoOn(all.substr(at));
    if (!may_go_on.has_value()) break;
    in_elements_ = *may_go_on;
    if (in_elements_) continue;
    if (!Look(all.substr(0, at), all.substr(at))) break;
    if (!in_elements_) ++position_;
  }
  if (found_ != nullptr) return;
  const auto num_looked_at = static_cast<size_t>(num_clear() - begin);
  bytes_.erase(0, num_looked_at - std::min(num_looked_at, kFtypAt));
}

bool RecordingScanner::PassElement() {
  if (position_ >= num_pushed_) return false;
  const std::string_view rest =
      std::string_view(bytes_).substr(bytes_.size() - static_cast<size_t>(num_pushed_ - position_));
  const std::optional<uint64_t> size = ElementBytes(*first_, rest, position_ == 0);
  if (!size.has_value()) return false;
  in_elements_ = *size > 0;
  if (in_elements_) ReadElement(rest.substr(0, std::min<uint64_t>(*size, rest.size())));
  position_ += *size;
  return found_ == nullptr;
}

std::optional<bool> RecordingScanner::MayGoOn(std::string_view rest) const {
  if (first_ == nullptr || !HasSureElements(*first_)) return false;
  const std::optional<uint64_t> size = ElementBytes(*first_, rest, /*is_first=*/false);
  if (!size.has_value()) return std::nullopt;
  return *size > 0;
}

// Decoders may stop reading where another file begins, also in the middle of the first one's
// elements.
void RecordingScanner::ReadElement(std::string_view element) {
  if (IsOgg(first_)) {
    const ContainerMatch match = MatchRecording(element);
    if (match.match != Match::kYes) return;
    if (IsAnother(match.container, position_, element)) SetFound(match.container, position_);
  }
  if (first_ != &kMatroska) return;
  const std::optional<EbmlElement> head = ReadEbmlElement(element);
  if (head->id == kEbmlFile) file_at_ = position_;
  if (head->id == kMatroskaTracks) ReadCodec(element);
}

bool RecordingScanner::Look(std::string_view before, std::string_view begin) {
  begin = begin.substr(0, kRecordingHeadBytes);
  if (begin[0] == '\xFF') return LookForFrame(begin);
  if (begin[0] == 'I') return LookForTag(begin);
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
  const ContainerMatch match = MatchRecording(begin);
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
    first_pages_end_ = at + ElementBytes(*first_, begin, /*is_first=*/false).value_or(0);
    if (codec_ == nullptr && container != &kOgg) codec_ = container;
    return !is_beside && container != codec_ && container != &kOgg;
  }
  const bool is_read_on = container == first_ && (first_ == &kMatroska || first_ == &kMp4);
  return at > 0 && !is_read_on;
}

// Matroska's element CodecID of an audio track.
void RecordingScanner::ReadCodec(std::string_view tracks) {
  constexpr char kCodecId = '\x86';
  for (size_t at = tracks.find("A_"); at != std::string_view::npos;
       at = tracks.find("A_", at + 1)) {
    if (at < 2 || tracks[at - 2] != kCodecId || (tracks[at - 1] & '\x80') == 0) continue;
    const std::string_view id =
        tracks.substr(at, static_cast<unsigned char>(tracks[at - 1]) & 0x7FU);
    if (codec_id_.empty()) codec_id_ = id;
    if (codec_id_ != id) SetFound(&kMatroska, file_at_);
    return;
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
  // The samples of WAV of an unknown length may be frames of MP3.
  if (first_ == &kWav && container == &kMp3) return false;
  return frames.count >= kUnmarkedFrames;
}

bool RecordingScanner::LookForFrame(std::string_view begin) {
  if (begin.size() < kMpegHeaderBytes) return false;
  const MpegFrame frame = ReadMpegFrame(begin);
  if (frame.size == 0) return true;
  if (begin.size() < kRecordingHeadBytes) return false;
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
  frames->is_marked = frames->is_marked || (first_ != &kWav && IsInfoFrame(begin));
  if (frame.container == first_) {
    in_elements_ = frames->count > 1;
    return true;
  }
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
