// Formats that show the utterances of a recording. Utterances without text are left out.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_UTTERANCE_FORMATTERS_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_UTTERANCE_FORMATTERS_H_

#include <string>

#include "runtime/text_joiner.h"
#include "runtime/token_table.h"
#include "tools/decode/formats/result_formatter.h"

namespace runnel {

// OutputFormat::kUtteranceText.
class UtteranceText : public ResultFormatter {
 public:
  UtteranceText(std::string id, int nbest);
  std::string Add(const Utterance& utterance) override;

 private:
  const std::string id_;
  const int nbest_;
};

// OutputFormat::kJoinedText.
class JoinedText : public ResultFormatter {
 public:
  explicit JoinedText(std::string id);
  std::string Add(const Utterance& utterance) override;
  std::string Finish(double audio_seconds) override;
  std::string Fail(const std::string& message) override;

 private:
  const std::string id_;
  TextJoiner joiner_;
  bool has_begun_ = false;  // the line
};

// OutputFormat::kUtteranceJson.
class UtteranceJson : public ResultFormatter {
 public:
  // `tokens` must outlive the formatter.
  UtteranceJson(std::string id, const TokenTable& tokens);
  std::string Add(const Utterance& utterance) override;
  std::string Finish(double audio_seconds) override;
  std::string Fail(const std::string& message) override;

 private:
  // The object up to its first utterance.
  std::string Beginning() const;

  const std::string id_;
  const TokenTable& tokens_;
  bool has_begun_ = false;  // the object
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_UTTERANCE_FORMATTERS_H_
