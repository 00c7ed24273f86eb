// Captions of one recording as a file: SubRip and WebVTT.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_FORMATTERS_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_FORMATTERS_H_

#include <cstdint>
#include <string>

#include "runtime/token_table.h"
#include "tools/decode/formats/caption_cues.h"
#include "tools/decode/formats/result_formatter.h"

namespace runnel {

// OutputFormat::kSrt: numbered cues.
class SubRip : public ResultFormatter {
 public:
  // `tokens` must outlive the formatter.
  explicit SubRip(const TokenTable& tokens);
  std::string Add(const Utterance& utterance) override;

 private:
  const TokenTable& tokens_;
  int64_t num_cues_ = 0;
};

// OutputFormat::kVtt: https://www.w3.org/TR/webvtt1/
class WebVtt : public ResultFormatter {
 public:
  // `tokens` must outlive the formatter.
  explicit WebVtt(const TokenTable& tokens);
  std::string Add(const Utterance& utterance) override;
  std::string Finish(double audio_seconds) override;

 private:
  const TokenTable& tokens_;
  bool has_header_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_FORMATTERS_H_
