// The parts of a damaged recording that are not decoded.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_SKIPPED_PARTS_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_SKIPPED_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::media_decoder {

class SkippedParts {
 public:
  // `at`: the offset of the first byte. `bytes`: 0 when packets are missing. A part that begins
  // within the last one extends it. `seconds`: of the samples before it.
  void Add(int64_t at, int64_t bytes, double seconds);

  bool empty() const { return num_parts_ == 0; }
  // The rest of a sentence whose subject is the recording. It names the first few parts.
  std::string Warning() const;

 private:
  struct Part {
    int64_t at;
    int64_t bytes;
    double seconds;
  };

  std::vector<Part> named_;
  int64_t num_parts_ = 0;
  int64_t num_bytes_ = 0;  // of all
  int64_t last_end_ = 0;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_SKIPPED_PARTS_H_
