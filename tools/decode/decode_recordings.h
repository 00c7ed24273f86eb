// Decodes a list of recordings in several threads and writes the results in the order of the list.
#ifndef RUNNEL_TOOLS_DECODE_DECODE_RECORDINGS_H_
#define RUNNEL_TOOLS_DECODE_DECODE_RECORDINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/live/latency_histogram.h"
#include "runtime/model.h"
#include "tools/cli/console.h"
#include "tools/decode/batch_decoder.h"
#include "tools/decode/finished_results.h"
#include "tools/decode/input/recording_list.h"
#include "tools/decode/progress.h"
#include "tools/decode/result_reporter.h"

namespace runnel {

struct DecodeOptions {
  BatchDecoderOptions batch;  // of each thread
  int num_threads = 1;
  ReportOptions report;
  std::string output;         // path; "" or "-": standard output
  bool keeps_output = false;  // append to `output` instead of replacing it
};

// Decodes the recordings that are not in `finished`: first its gaps, then all after the last
// result. Failures and partial results go to `console`. Results are written while they come, so
// memory holds only those of recordings that wait for an earlier one, and those of the gaps.
// Returns the latencies of all steps (BatchDecoder::step_latency). The first exception in any
// thread stops all threads and is thrown here.
LatencyHistogram DecodeRecordings(const std::shared_ptr<const Model>& model,
                                  const std::vector<Recording>& recordings,
                                  const FinishedResults& finished, const DecodeOptions& options,
                                  Progress* progress, Console* console);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_DECODE_RECORDINGS_H_
