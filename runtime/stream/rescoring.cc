// The second pass over utterances that have ended.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"

namespace runnel {
namespace {

std::vector<int32_t> IdsOf(const TokenSequence& sequence) {
  std::vector<int32_t> ids;
  for (const TokenSpan& token : sequence.tokens) ids.push_back(token.id);
  return ids;
}

// Best first, at most `count`.
void Rank(const RescoringOptions& options, const std::vector<RescoringScores>& scores, size_t count,
          std::vector<TokenSequence>* nbest) {
  for (size_t i = 0; i < nbest->size(); ++i) {
    (*nbest)[i].score = (1 - options.reverse_weight) * scores[i].left +
                        options.reverse_weight * scores[i].right +
                        options.first_pass_weight * (*nbest)[i].score;
  }
  std::stable_sort(nbest->begin(), nbest->end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  if (nbest->size() > count) nbest->resize(count);
}

}  // namespace

void Stream::State::KeepRows(ConstRows rows) {
  if (!options.search.rescoring.enabled) return;
  const int64_t first = encoder.offset - rows.count;
  if (kept_rows.count() == 0 || first != first_kept_row + kept_rows.count()) {
    kept_rows.DropFirst(kept_rows.count());
    first_kept_row = first;
  }
  const Rows added = kept_rows.AddRows(rows.count);
  std::memcpy(added.data, rows.data,
              static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
  DropRows();
}

void Stream::State::DropRows() {
  if (!options.search.rescoring.enabled) return;
  const bool is_too_long = kept_rows.count() > RescoringOptions::kMaxFrames;
  const int64_t count =
      is_too_long ? kept_rows.count()
                  : std::clamp<int64_t>(text_begin() - first_kept_row, 0, kept_rows.count());
  kept_rows.DropFirst(count);
  first_kept_row += count;
}

void Stream::State::AddToRescore() {
  const int64_t begin = text_begin() - first_kept_row;
  const int64_t count = ended.back().end_frame - text_begin();
  const bool are_kept = begin >= 0 && count > 0 && begin + count <= kept_rows.count();
  to_rescore.emplace_back(are_kept ? std::as_const(kept_rows).rows().Part(begin, count)
                                   : ConstRows{kept_rows.type(), nullptr, 0, kept_rows.dim()});
}

void Stream::State::Rescore(const std::vector<State*>& streams) {
  std::vector<RescoringQuery> queries;
  std::vector<std::pair<State*, EndedUtterance*>> utterances;  // of the queries
  for (State* stream : streams) {
    const size_t first = stream->ended.size() - stream->to_rescore.size();
    for (size_t i = 0; i < stream->to_rescore.size(); ++i) {
      EndedUtterance* utterance = &stream->ended[first + i];
      const Matrix& rows = stream->to_rescore[i];
      if (rows.count() == 0) {  // too long
        const auto count = static_cast<size_t>(stream->options.nbest);
        if (utterance->nbest.size() > count) utterance->nbest.resize(count);
        continue;
      }
      RescoringQuery query;
      query.encoder = rows.rows();
      query.reverse_weight = stream->options.search.rescoring.reverse_weight;
      for (const TokenSequence& sequence : utterance->nbest) {
        query.hypotheses.push_back(IdsOf(sequence));
      }
      queries.push_back(std::move(query));
      utterances.emplace_back(stream, utterance);
    }
  }
  if (!queries.empty()) {
    const AttentionDecoder& decoder = *streams.front()->model->parts().attention_decoder;
    const std::vector<std::vector<RescoringScores>> scores = decoder.Score(queries);
    for (size_t i = 0; i < utterances.size(); ++i) {
      const StreamOptions& options = utterances[i].first->options;
      Rank(options.search.rescoring, scores[i], static_cast<size_t>(options.nbest),
           &utterances[i].second->nbest);
    }
  }
  for (State* stream : streams) stream->to_rescore.clear();
}

}  // namespace runnel
