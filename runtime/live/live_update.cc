#include "runtime/live_update.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace runnel {

void LiveUpdate::Append(LiveUpdate next) {
  utterances.insert(utterances.end(), std::make_move_iterator(next.utterances.begin()),
                    std::make_move_iterator(next.utterances.end()));
  next.num_empty_finalizations += num_empty_finalizations;
  if (next.utterance_index != utterance_index ||
      next.stable_size_before < stable_size_before + stable_text.size() ||
      next.stable_tokens_before < stable_tokens_before + num_stable_tokens) {
    // Another utterance, or one that starts anew.
    next.utterances = std::move(utterances);
    *this = std::move(next);
    return;
  }
  stable_text += next.stable_text;
  tentative_text = std::move(next.tentative_text);
  begins_word = next.begins_word;
  tokens.resize(num_stable_tokens);
  // How long they last is known now.
  double latest_ms = next.tokens.empty() ? next.audio_ms : next.tokens.front().start_ms;
  for (auto token = tokens.rbegin(); token != tokens.rend() && token->end_ms > latest_ms; ++token) {
    token->end_ms = latest_ms;
    token->start_ms = std::min(token->start_ms, latest_ms);
    latest_ms = token->start_ms;
  }
  tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
  num_stable_tokens += next.num_stable_tokens;
  num_empty_finalizations = next.num_empty_finalizations;
  audio_ms = next.audio_ms;
  accepted_at = next.accepted_at;
  latency_ms = next.latency_ms;
  is_final = next.is_final;
  error = std::move(next.error);
}

}  // namespace runnel
