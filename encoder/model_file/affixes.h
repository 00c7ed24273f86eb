// Whether a text begins or ends with another.
#ifndef RUNNEL_ENCODER_MODEL_FILE_AFFIXES_H_
#define RUNNEL_ENCODER_MODEL_FILE_AFFIXES_H_

#include <string>

namespace runnel {

inline bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

inline bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_AFFIXES_H_
