// Formats of a recording that is one utterance, and CTM, which has no utterances.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_RECORDING_FORMATTERS_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_RECORDING_FORMATTERS_H_

#include <string>
#include <vector>

#include "runtime/token_table.h"
#include "tools/decode/formats/result_formatter.h"

namespace runnel {

// OutputFormat::kText.
class RecordingText : public ResultFormatter {
 public:
  RecordingText(std::string id, int nbest);
  std::string Add(const Utterance& utterance) override;

 private:
  const std::string id_;
  const int nbest_;
};

// OutputFormat::kJson.
class RecordingJson : public ResultFormatter {
 public:
  // `tokens` must outlive the formatter.
  RecordingJson(std::string id, const TokenTable& tokens);
  std::string Add(const Utterance& utterance) override;
  std::string Finish(double audio_seconds) override;

 private:
  const std::string id_;
  const TokenTable& tokens_;
  std::vector<Hypothesis> nbest_;
};

// OutputFormat::kCtm. Times are from the start of the recording, so utterances make no difference.
class Ctm : public ResultFormatter {
 public:
  explicit Ctm(std::string id);
  std::string Add(const Utterance& utterance) override;

 private:
  const std::string id_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_RECORDING_FORMATTERS_H_
