#include "tools/decode/result_reporter.h"

#include "tools/decode/formats/lines.h"

namespace runnel {

ResultReporter::ResultReporter(const TokenTable& tokens, const std::vector<Recording>& recordings,
                               const ReportOptions& options, ResultSink* sink, Progress* progress,
                               Console* console)
    : tokens_(tokens),
      recordings_(recordings),
      options_(options),
      sink_(sink),
      progress_(progress),
      console_(console),
      formatters_(recordings.size()),
      parts_(recordings.size()) {}

void ResultReporter::OnAudio(size_t index, double seconds, double part) {
  progress_->AddAudio(seconds, part - parts_[index]);
  parts_[index] = part;
}

void ResultReporter::OnPartial(size_t index, int64_t utterance_index, const std::string& text) {
  if (!options_.prints_partials) return;
  const std::string& id = recordings_[index].id;
  console_->Print((options_.has_endpoints ? UtteranceId(id, utterance_index) : id) +
                  " partial: " + text);
}

void ResultReporter::OnUtterance(size_t index, const Utterance& utterance) {
  console_->SetStatus("");
  sink_->Append(index, FormatterOf(index)->Add(utterance));
}

void ResultReporter::OnEnd(size_t index, const DecodedAudio& audio) {
  console_->SetStatus("");
  for (const std::string& warning : audio.warnings) console_->Info(warning);
  sink_->Append(index, FormatterOf(index)->Finish(audio.seconds));
  sink_->Complete(index);
  formatters_[index].reset();
  progress_->AddFinished(/*failed=*/false, 1 - parts_[index]);
}

void ResultReporter::OnFailure(size_t index, const std::string& message) {
  console_->Error(message);
  sink_->Append(index, FormatterOf(index)->Fail(message));
  sink_->Complete(index);
  formatters_[index].reset();
  progress_->AddFinished(/*failed=*/true, 1 - parts_[index]);
}

ResultFormatter* ResultReporter::FormatterOf(size_t index) {
  std::unique_ptr<ResultFormatter>& formatter = formatters_[index];
  if (formatter == nullptr) {
    formatter = MakeFormatter(options_.format, recordings_[index].id, options_.nbest, tokens_);
  }
  return formatter.get();
}

}  // namespace runnel
