// The second pass over utterances that have ended.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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

void Rescore(const std::vector<Stream::State*>& streams) {
  std::vector<RescoringQuery> queries;
  std::vector<std::pair<const Stream::State*, EndedUtterance*>> utterances;  // of the queries
  for (Stream::State* stream : streams) {
    std::vector<EndedUtterance>& ended = stream->utterances.ended();
    const auto is_done = [](const EndedUtterance& utterance) { return !utterance.to_rescore; };
    auto utterance = std::find_if(ended.rbegin(), ended.rend(), is_done).base();
    for (; utterance != ended.end(); ++utterance) {
      if (utterance->to_rescore->count() == 0) {  // too long
        const auto count = static_cast<size_t>(stream->options.nbest);
        if (utterance->nbest.size() > count) utterance->nbest.resize(count);
        utterance->to_rescore.reset();
        continue;
      }
      RescoringQuery query;
      query.encoder = std::as_const(*utterance->to_rescore).rows();
      query.reverse_weight = stream->options.search.rescoring.reverse_weight;
      for (const TokenSequence& sequence : utterance->nbest) {
        query.hypotheses.push_back(IdsOf(sequence));
      }
      queries.push_back(std::move(query));
      utterances.emplace_back(stream, &*utterance);
    }
  }
  if (queries.empty()) return;
  const AttentionDecoder& decoder = *streams.front()->model->parts().attention_decoder;
  const std::vector<std::vector<RescoringScores>> scores = decoder.Score(queries);
  for (size_t i = 0; i < utterances.size(); ++i) {
    const auto& [stream, utterance] = utterances[i];
    Rank(stream->options.search.rescoring, scores[i], static_cast<size_t>(stream->options.nbest),
         &utterance->nbest);
    utterance->to_rescore.reset();
  }
}

}  // namespace runnel
