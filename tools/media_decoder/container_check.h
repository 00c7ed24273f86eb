// Finds damage in the structure of a container, which FFmpeg's readers pass over.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_

#include <cstddef>
#include <cstdint>
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
  // Where the first damage begins; no value: none was found so far.
  std::optional<int64_t> damage_at() const { return damage_at_; }
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

  // For ReadElement, where no element begins with `unit` zeros: the number of zeros that `bytes`
  // begin with, a multiple of it. They may stand at the end; an element that follows them is
  // damage.
  size_t PassZeros(std::string_view bytes, size_t unit = 1);
  // For ReadElement: of the present element.
  int64_t element_at() const { return element_at_; }
  void SetDamaged() { damage_at_ = element_at_; }
  void SetFile() { last_file_at_ = element_at_; }
  void SetJump() { last_jump_at_ = element_at_; }
  void AddLostPages(int64_t count) { num_lost_pages_ += count; }

 private:
  int64_t position_ = 0;
  int64_t element_at_ = 0;  // of the next element
  std::string unread_;      // the bytes of it so far
  std::optional<int64_t> damage_at_;
  bool has_zeros_ = false;
  int64_t last_file_at_ = 0;
  int64_t last_jump_at_ = 0;
  int64_t num_lost_pages_ = 0;
};

// `container`: FFmpeg's name. Null for a container whose structure tells nothing.
std::unique_ptr<ContainerCheck> MakeContainerCheck(const std::string& container);

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_CONTAINER_CHECK_H_
