// The chunks that programs put into WAV files.
#ifndef RUNNEL_FRONTEND_WAV_CHUNKS_H_
#define RUNNEL_FRONTEND_WAV_CHUNKS_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace runnel {

// Whether `id`, four bytes, names one of them. Samples practically never look like one.
inline bool IsWavChunk(std::string_view id) {
  constexpr std::array<std::string_view, 33> kIds = {
      "fmt ", "data", "fact", "LIST", "JUNK", "junk", "FLLR", "PAD ", "bext", "iXML", "axml",
      "chna", "id3 ", "ID3 ", "cue ", "plst", "smpl", "inst", "PEAK", "acid", "strc", "afsp",
      "cart", "DISP", "levl", "umid", "minf", "elm1", "regn", "ovwf", "_PMX", "slnt", "note"};
  return std::find(kIds.begin(), kIds.end(), id) != kIds.end();
}

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_WAV_CHUNKS_H_
