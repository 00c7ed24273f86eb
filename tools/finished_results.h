// The results that an output file holds already when a run is resumed that was ended before its
// time. Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_FINISHED_RESULTS_H_
#define RUNNEL_TOOLS_FINISHED_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/output_format.h"
#include "tools/recording_list.h"

namespace runnel {

// Reads what OrderedOutput wrote: whole lines in the order of the list, the last one perhaps cut. A
// recording without lines before the last one that has some has failed (or has no words, in CTM,
// which is the same there): it is a gap, to be tried again.
class FinishedResults {
 public:
  // None: nothing is finished.
  FinishedResults() = default;

  // One result per line is expected, but in CTM, where a recording has a line per word and the last
  // recording's may be incomplete: it does not count. A missing file holds nothing. Throws
  // std::runtime_error naming file and line when that is no result of `recordings` or out of their
  // order, and when it is
  // no regular file that can be read.
  FinishedResults(const std::string& path, OutputFormat format,
                  const std::vector<Recording>& recordings);

  // Recordings 0 to num_reached() - 1 have been tried; the others have not.
  size_t num_reached() const { return places_.size(); }
  size_t num_finished() const { return num_reached() - gaps_.size(); }
  // In rising order; all less than num_reached().
  const std::vector<size_t>& gaps() const { return gaps_; }

  // Brings the file into the state in which results from num_reached() on can be appended: cuts off
  // what does not count and puts in `found`, the results of gaps that now have one, by index. The
  // file has the old or the new content, whole, whenever the process is killed. Throws
  // std::runtime_error.
  void Restore(const std::map<size_t, std::string>& found) const;

 private:
  struct Place {
    int64_t begin = 0;  // bytes from the file's beginning
    int64_t size = 0;   // 0: a gap
  };

  void Add(size_t index, int64_t begin, int64_t size);
  void Rewrite(const std::map<size_t, std::string>& found) const;

  std::string path_;
  bool exists_ = false;
  std::vector<Place> places_;
  std::vector<size_t> gaps_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_FINISHED_RESULTS_H_
