#include "tools/server/store/utterance_history.h"

#include <algorithm>
#include <utility>

#include "runtime/snapshot/state_fields.h"

namespace runnel::server {
namespace {

template <class Self, class Fields>
void VisitToken(Self& token, Fields& fields) {
  fields.Value(token.id);
  fields.Value(token.start_ms);
  fields.Value(token.end_ms);
  fields.Value(token.confidence);
  fields.Value(token.frame);
}

template <class Self, class Fields>
void VisitHotword(Self& match, Fields& fields) {
  fields.Text(match.phrase);
  fields.Value(match.start_ms);
  fields.Value(match.end_ms);
}

template <class Self, class Fields>
void VisitHypothesis(Self& hypothesis, Fields& fields) {
  constexpr size_t kTokenSize =
      sizeof(int32_t) + 2 * sizeof(double) + sizeof(float) + sizeof(int64_t);
  constexpr size_t kHotwordSize = sizeof(uint64_t) + 2 * sizeof(double);
  fields.Value(hypothesis.score);
  fields.Value(hypothesis.confidence);
  const size_t count = fields.Count(hypothesis.tokens.size(), kTokenSize);
  if constexpr (Fields::kReading) hypothesis.tokens.resize(count);
  for (auto& token : hypothesis.tokens) VisitToken(token, fields);
  const size_t num_hotwords = fields.Count(hypothesis.hotwords.size(), kHotwordSize);
  if constexpr (Fields::kReading) hypothesis.hotwords.resize(num_hotwords);
  for (auto& match : hypothesis.hotwords) VisitHotword(match, fields);
}

template <class Self, class Fields>
void VisitUtterance(Self& utterance, Fields& fields) {
  constexpr size_t kHypothesisSize = sizeof(double) + sizeof(float) + 2 * sizeof(uint64_t);
  auto end = static_cast<int32_t>(utterance.end);
  fields.Value(utterance.index);
  fields.Value(utterance.start_ms);
  fields.Value(utterance.end_ms);
  fields.Value(utterance.searched_ms);
  fields.Value(end);
  fields.Value(utterance.latency_ms);
  const size_t count = fields.Count(utterance.nbest.size(), kHypothesisSize);
  if constexpr (Fields::kReading) {
    fields.Require(end >= 0 && end <= static_cast<int32_t>(UtteranceEnd::kEndToken) && count > 0,
                   "a stored utterance is damaged");
    utterance.end = static_cast<UtteranceEnd>(end);
    utterance.nbest.resize(count);
  }
  for (auto& hypothesis : utterance.nbest) VisitHypothesis(hypothesis, fields);
}

// Fills in what follows from the tokens, which is not packed.
void Complete(const TokenTable& table, Hypothesis* hypothesis) {
  for (const Token& token : hypothesis->tokens) {
    StateReader::Require(token.id >= 0 && token.id < table.size(),
                         "a stored utterance is of another vocabulary");
  }
  table.Complete(hypothesis);
}

std::string PackWhole(const Utterance& utterance) {
  StateWriter writer;
  VisitUtterance(utterance, writer);
  return writer.Take();
}

// At most kMostBytes, by leaving out the last hypotheses. The best one always stays.
std::string PackBounded(const Utterance& utterance) {
  constexpr size_t kMost = UtteranceHistory::kMostBytes;
  std::string bytes = PackWhole(utterance);
  if (bytes.size() <= kMost) return bytes;
  Utterance shorter = utterance;
  while (bytes.size() > kMost && shorter.nbest.size() > 1) {
    const size_t fitting = shorter.nbest.size() * kMost / bytes.size();  // fewer than there are
    shorter.nbest.resize(std::max<size_t>(1, fitting));
    bytes = PackWhole(shorter);
  }
  return bytes;
}

}  // namespace

void UtteranceHistory::Add(const Utterance& utterance) {
  utterances_.push_back({utterance.index, PackBounded(utterance)});
  num_bytes_ += utterances_.back().bytes.size();
  next_index_ = utterance.index + 1;
  while (utterances_.size() > kMostUtterances ||
         (num_bytes_ > kMostBytes && utterances_.size() > 1)) {
    ForgetFirst();
  }
}

void UtteranceHistory::ForgetBefore(int64_t index) {
  while (!utterances_.empty() && utterances_.front().index < index) ForgetFirst();
}

void UtteranceHistory::ForgetFirst() {
  num_bytes_ -= utterances_.front().bytes.size();
  utterances_.pop_front();
}

std::string UtteranceHistory::Pack(int64_t end) const {
  std::string bytes;
  for (const Packed& utterance : utterances_) {
    if (utterance.index < end) bytes += utterance.bytes;
  }
  return bytes;
}

std::vector<Utterance> UtteranceHistory::Unpack(std::string_view bytes, const TokenTable& table) {
  StateReader reader(bytes);
  std::vector<Utterance> utterances;
  while (!reader.at_end()) {
    Utterance utterance;
    VisitUtterance(utterance, reader);
    for (Hypothesis& hypothesis : utterance.nbest) Complete(table, &hypothesis);
    utterances.push_back(std::move(utterance));
  }
  return utterances;
}

}  // namespace runnel::server
