// The head of a stream: encoder frames to token sequences.
#ifndef RUNNEL_RUNTIME_STREAM_HEAD_DECODING_H_
#define RUNNEL_RUNTIME_STREAM_HEAD_DECODING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encoder/rows.h"
#include "runtime/model.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search/transducer_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream.h"
#include "runtime/token_table.h"

namespace runnel {

// A search as a value: a copy is its clone.
template <class S>
class SearchValue {
 public:
  explicit SearchValue(std::unique_ptr<S> search) : search_(std::move(search)) {}
  ~SearchValue() = default;
  SearchValue(const SearchValue& other) : search_(other.search_->Clone()) {}
  SearchValue& operator=(const SearchValue& other) { return *this = SearchValue(other); }
  SearchValue(SearchValue&&) noexcept = default;
  SearchValue& operator=(SearchValue&&) noexcept = default;

  S& operator*() { return *search_; }
  const S& operator*() const { return *search_; }

 private:
  std::unique_ptr<S> search_;
};

// Searches the token sequences of the present utterance with a CTC head or a transducer, and keeps
// the encoder frames that rescoring will read. A value. The model must outlive it.
class HeadDecoding {
 public:
  // `options` are resolved.
  HeadDecoding(const Model& model, const StreamOptions& options);

  Search& search() {
    return std::visit([](auto& search) -> Search& { return *search; }, search_);
  }
  const Search& search() const {
    return std::visit([](const auto& search) -> const Search& { return *search; }, search_);
  }
  bool is_ctc() const { return std::holds_alternative<SearchValue<CtcSearch>>(search_); }
  // Only for a stream of this head.
  CtcSearch& ctc() { return *std::get<SearchValue<CtcSearch>>(search_); }
  TransducerSearch& transducer() { return *std::get<SearchValue<TransducerSearch>>(search_); }

  // The best sequences, at most `n`, no two with the same TextOf.
  std::vector<TokenSequence> BestSequences(int n) const;
  // Without special tokens, also where the stream's texts show them.
  std::string TextOf(const std::vector<TokenSpan>& tokens) const;

  // Ends the utterance. Returns its best sequences: at least `nbest` if there are as many, with
  // rescoring all that are to be rescored.
  std::vector<TokenSequence> Finish(int nbest);

  // Goes on with the search of `other`, from its last token on (TransducerSearch::ReturnTo). Both
  // are of transducers.
  void ReturnTo(HeadDecoding* other, const std::vector<TokenSpan>& tokens, int64_t begin_frame);

  // Keeps encoder frames, of which `first_frame` is the first. Does nothing without rescoring.
  void KeepRows(ConstRows rows, int64_t first_frame);
  // Forgets those before `begin_frame`, with which the present utterance begins, and all when it is
  // too long to be rescored.
  void DropRowsBefore(int64_t begin_frame);
  // The frames from begin_frame to before end_frame; no rows when they are not kept. None without
  // rescoring.
  std::optional<Matrix> RowsToRescore(int64_t begin_frame, int64_t end_frame) const;
  // For a preview.
  void DisableRescoring() { num_rescored_ = 0; }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.first_row_);
    Matrix::VisitState(self.rows_, fields);
    if constexpr (Fields::kReading) {
      self.search().Restore(&fields);
    } else {
      self.search().Save(&fields);
    }
  }
  // Whether the restored rows end before `end_frame`, where the encoder stands.
  bool RowsAreConsistent(int64_t end_frame) const;

 private:
  const TokenTable* tokens_;
  std::variant<SearchValue<CtcSearch>, SearchValue<TransducerSearch>> search_;
  // The most sequences of an utterance that are rescored, unless the caller asks for more; 0: no
  // rescoring.
  int num_rescored_;
  // Encoder frames of the present utterance, the first of which is first_row_. They begin later
  // than the utterance when it is too long to be rescored.
  Matrix rows_;
  int64_t first_row_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_HEAD_DECODING_H_
