// Passes the results of a list to a sink, as text, and everything else to the console.
#ifndef RUNNEL_TOOLS_DECODE_RESULT_REPORTER_H_
#define RUNNEL_TOOLS_DECODE_RESULT_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/token_table.h"
#include "tools/cli/console.h"
#include "tools/decode/decode_listener.h"
#include "tools/decode/formats/output_format.h"
#include "tools/decode/formats/result_formatter.h"
#include "tools/decode/input/recording_list.h"
#include "tools/decode/progress.h"
#include "tools/decode/result_sink.h"

namespace runnel {

struct ReportOptions {
  OutputFormat format = OutputFormat::kText;
  int nbest = 1;  // the requested number of hypotheses
  bool prints_partials = false;
  bool has_endpoints = false;  // a partial result names its utterance
};

class ResultReporter : public DecodeListener {
 public:
  // Everything that is passed must outlive the reporter.
  ResultReporter(const TokenTable& tokens, const std::vector<Recording>& recordings,
                 const ReportOptions& options, ResultSink* sink, Progress* progress,
                 Console* console);

  void OnAudio(size_t index, double seconds, double part) override;
  void OnPartial(size_t index, int64_t utterance_index, const std::string& text) override;
  void OnUtterance(size_t index, const Utterance& utterance) override;
  void OnEnd(size_t index, const DecodedAudio& audio) override;
  void OnFailure(size_t index, const std::string& message) override;

 private:
  // That of a recording, made when it is first needed.
  ResultFormatter* FormatterOf(size_t index);

  const TokenTable& tokens_;
  const std::vector<Recording>& recordings_;
  const ReportOptions options_;
  ResultSink* const sink_;
  Progress* const progress_;
  Console* const console_;
  // By recording; null before its first and after its last result.
  std::vector<std::unique_ptr<ResultFormatter>> formatters_;
  std::vector<double> parts_;  // by recording: what has been read of it
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_RESULT_REPORTER_H_
