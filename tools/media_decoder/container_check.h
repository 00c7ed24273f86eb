// Finds damage in the structure of a container, which FFmpeg's readers pass over.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::media_decoder {

// Reads a recording beside FFmpeg, from its first byte to its last. A recording that is cut off
// has no damage. One thread at a time.
class ContainerCheck {
 public:
  ContainerCheck() = default;
  virtual ~ContainerCheck() = default;
  ContainerCheck(const ContainerCheck&) = delete;
  ContainerCheck& operator=(const ContainerCheck&) = delete;

  // The next bytes of the recording, cut anywhere.
  void Take(std::string_view bytes);
  // Leaves out bytes that are not examined, such as those of a video.
  void SkipUnneeded();

  // Of the next byte, in the recording.
  int64_t position() const { return position_; }
  // Bytes that are no element, or that are missing: then there are none.
  struct Damage {
    int64_t at = 0;
    std::optional<int64_t> end;  // no value: no element was found behind it yet
  };
  // The first of those that were not dropped.
  std::optional<Damage> damage() const {
    return damages_.empty() ? std::nullopt : std::make_optional(damages_.front());
  }
  void DropDamage() { damages_.pop_front(); }
  // Where the last of several files begins that were joined, or the last stream of Ogg; 0: there is
  // one.
  int64_t last_file_at() const { return last_file_at_; }
  // Where the numbers of fragments last leave some out; 0: nowhere. It is damage when their times
  // have a gap there too: some writers number in steps.
  int64_t last_jump_at() const { return last_jump_at_; }
  // Pages of Ogg that are missing as wholes: a network or a recorder has lost them.
  int64_t num_lost_pages() const { return num_lost_pages_; }

 protected:
  // Reads the element that `bytes` begin with: the number of bytes from it to the next element,
  // which may be more than there are; no value: more bytes are needed.
  virtual std::optional<int64_t> ReadElement(std::string_view bytes) = 0;
  // After SetDamaged: where in `bytes` an element may begin again, or its first bytes; the size:
  // not here.
  virtual size_t FindElement(std::string_view bytes) { return bytes.size(); }

  // For ReadElement, where no element begins with `unit` zeros: the number of zeros that `bytes`
  // begin with, a multiple of it. They may stand at the end; before an element they are damage.
  size_t PassZeros(std::string_view bytes, size_t unit = 1);
  // For ReadElement: of the present element.
  int64_t element_at() const { return element_at_; }
  // No element begins here.
  void SetDamaged() { is_damaged_ = true; }
  // There is damage from `begin` on, before the present element.
  void AddDamage(int64_t begin) {
    if (!is_lost_) damages_.push_back({begin, element_at_});
  }
  void SetFile() { last_file_at_ = element_at_; }
  void SetJump() { last_jump_at_ = element_at_; }
  // Those within damage are a part of it.
  void AddLostPages(int64_t count) {
    if (!is_lost_) num_lost_pages_ += count;
  }

 private:
  int64_t position_ = 0;
  int64_t element_at_ = 0;  // of the next element
  std::string unread_;      // the bytes of it so far
  std::deque<Damage> damages_;
  bool is_damaged_ = false;
  bool is_lost_ = false;  // within the last damage
  std::optional<int64_t> zeros_at_;
  int64_t last_file_at_ = 0;
  int64_t last_jump_at_ = 0;
  int64_t num_lost_pages_ = 0;
};

// `container`: FFmpeg's name. Null for a container whose structure tells nothing.
std::unique_ptr<ContainerCheck> MakeContainerCheck(const std::string& container);

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_
