// The utterances that a session has handed over lately, in case its client did not receive them.
#ifndef RUNNEL_TOOLS_SERVER_STORE_UTTERANCE_HISTORY_H_
#define RUNNEL_TOOLS_SERVER_STORE_UTTERANCE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::server {

// Keeps the newest kMostUtterances, of kMostBytes at most together, and always the newest one. Of
// one that is larger by itself, it keeps as many of the best hypotheses as fit, but at least one.
// They are packed: text and words follow from the tokens. Not thread-safe.
class UtteranceHistory {
 public:
  static constexpr size_t kMostUtterances = 100;
  static constexpr size_t kMostBytes = 256 << 10;

  // Forgets all utterances. The next one to be added is `next_index`.
  explicit UtteranceHistory(int64_t next_index = 0) : next_index_(next_index) {}

  void Add(const Utterance& utterance);
  // Forgets the utterances before `index`.
  void ForgetBefore(int64_t index);

  // The index after the last utterance added.
  int64_t next_index() const { return next_index_; }
  // Memory of the packed utterances.
  size_t num_bytes() const { return num_bytes_; }

  // The utterances before `end` as bytes, for Unpack.
  std::string Pack(int64_t end) const;
  // Throws SnapshotError when `bytes` are not those of Pack, or not of a model with these tokens.
  static std::vector<Utterance> Unpack(std::string_view bytes, const TokenTable& table);

 private:
  struct Packed {
    int64_t index;
    std::string bytes;
  };

  void ForgetFirst();

  int64_t next_index_;
  std::deque<Packed> utterances_;
  size_t num_bytes_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_UTTERANCE_HISTORY_H_
