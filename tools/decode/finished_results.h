// The results that are already in the output file when an interrupted run is resumed.
#ifndef RUNNEL_TOOLS_DECODE_FINISHED_RESULTS_H_
#define RUNNEL_TOOLS_DECODE_FINISHED_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/decode/formats/output_format.h"
#include "tools/decode/input/recording_list.h"

namespace runnel {

// Reads a file that OrderedOutput wrote: lines in the order of the list, the last of which may be
// incomplete. A gap is a recording that is tried again: it has no lines, but a later one has some,
// or its JSON object has an `error`. A gap without lines failed, or has no words, which CTM does
// not distinguish.
class FinishedResults {
 public:
  // No finished results.
  FinishedResults() = default;

  // Expects one result per line, except in CTM: there a recording has a line per word, and the last
  // recording is not counted, since its lines may be incomplete. A missing file has no results.
  // `format` is not kUtteranceText, kSrt or kVtt, which do not show where a result ends.
  // Throws std::runtime_error, which names the file and the line, for a line that is not a result
  // of `recordings` or not in their order, and for a file that is not regular or cannot be read.
  FinishedResults(const std::string& path, OutputFormat format,
                  const std::vector<Recording>& recordings);

  // Recordings 0 to num_reached() - 1 were tried, the others were not.
  size_t num_reached() const { return lines_.size(); }
  size_t num_finished() const { return num_reached() - gaps_.size(); }
  // In ascending order; all below num_reached().
  const std::vector<size_t>& gaps() const { return gaps_; }

  // Prepares the file for appending the results from num_reached() on: cuts off incomplete lines
  // and inserts `found`, the results of all gaps by index. The replacement is atomic: a process
  // that is killed leaves either the old or the new content. Throws std::runtime_error.
  void Restore(const std::map<size_t, std::string>& found) const;

 private:
  struct Lines {
    int64_t begin = 0;  // byte offset in the file
    int64_t size = 0;   // bytes; 0: a gap
  };

  void Add(size_t index, int64_t begin, int64_t size, bool failed);
  void Rewrite(const std::map<size_t, std::string>& found) const;

  std::string path_;
  bool exists_ = false;
  std::vector<Lines> lines_;  // by recording
  std::vector<size_t> gaps_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FINISHED_RESULTS_H_
