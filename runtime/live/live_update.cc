#include "runtime/live_update.h"

#include <cstddef>
#include <utility>

namespace runnel {

void LiveUpdate::Append(LiveUpdate next) {
  if (next.stable_size_before < stable_size_before + stable_text.size()) {
    *this = std::move(next);  // it starts anew
    return;
  }
  stable_text += next.stable_text;
  tentative_text = std::move(next.tentative_text);
  tokens.resize(num_stable_tokens);
  tokens.insert(tokens.end(), next.tokens.begin(), next.tokens.end());
  num_stable_tokens += next.num_stable_tokens;
  audio_ms = next.audio_ms;
  accepted_at = next.accepted_at;
  latency_ms = next.latency_ms;
  is_final = next.is_final;
  nbest = std::move(next.nbest);
  error = std::move(next.error);
}

}  // namespace runnel
