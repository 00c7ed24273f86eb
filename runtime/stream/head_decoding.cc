#include "runtime/stream/head_decoding.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>

#include "runtime/model/model_parts.h"

namespace runnel {
namespace {

std::variant<SearchValue<CtcSearch>, SearchValue<TransducerSearch>> MakeSearch(
    const Model& model, const SearchOptions& options) {
  if (options.head == Head::kTransducer) {
    return SearchValue<TransducerSearch>(MakeTransducerSearch(options, *model.parts().transducer));
  }
  const VocabularyConfig& vocabulary = model.parts().config.vocabulary;
  return SearchValue<CtcSearch>(MakeCtcSearch(options, vocabulary.vocab_size, vocabulary.blank_id));
}

}  // namespace

HeadDecoding::HeadDecoding(const Model& model, const StreamOptions& options)
    : tokens_(&model.tokens()),
      search_(MakeSearch(model, options.search)),
      num_rescored_(options.search.rescoring.enabled ? options.search.beam_size : 0),
      rows_(model.parts().encoder.data_type(), model.parts().config.encoder.model_dim) {}

std::vector<TokenSequence> HeadDecoding::BestSequences(int n) const {
  for (int num_wanted = n;; num_wanted *= 2) {
    std::vector<TokenSequence> sequences = search().NBest(num_wanted);
    const bool has_all = sequences.size() < static_cast<size_t>(num_wanted);
    std::vector<TokenSequence> distinct;
    std::set<std::string> texts;
    for (TokenSequence& sequence : sequences) {
      if (distinct.size() == static_cast<size_t>(n)) break;
      if (texts.insert(TextOf(sequence.tokens)).second) distinct.push_back(std::move(sequence));
    }
    if (has_all || distinct.size() == static_cast<size_t>(n)) return distinct;
  }
}

std::string HeadDecoding::TextOf(const std::vector<TokenSpan>& tokens) const {
  std::vector<int32_t> ids;
  for (const TokenSpan& token : tokens) ids.push_back(token.id);
  return tokens_->Text(ids);
}

std::vector<TokenSequence> HeadDecoding::Finish(int nbest) {
  search().Finish();
  return BestSequences(std::max(nbest, num_rescored_));
}

void HeadDecoding::ReturnTo(HeadDecoding* other, const std::vector<TokenSpan>& tokens,
                            int64_t begin_frame) {
  search_ = std::move(other->search_);
  transducer().ReturnTo(tokens, begin_frame);
}

void HeadDecoding::KeepRows(ConstRows rows, int64_t first_frame) {
  if (num_rescored_ == 0) return;
  if (rows_.count() == 0 || first_frame != first_row_ + rows_.count()) {
    rows_.DropFirst(rows_.count());
    first_row_ = first_frame;
  }
  const Rows added = rows_.AddRows(rows.count);
  std::memcpy(added.data, rows.data,
              static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
}

void HeadDecoding::DropRowsBefore(int64_t begin_frame) {
  const bool is_too_long = rows_.count() > RescoringOptions::kMaxFrames;
  const int64_t count =
      is_too_long ? rows_.count() : std::clamp<int64_t>(begin_frame - first_row_, 0, rows_.count());
  rows_.DropFirst(count);
  first_row_ += count;
}

std::optional<Matrix> HeadDecoding::RowsToRescore(int64_t begin_frame, int64_t end_frame) const {
  if (num_rescored_ == 0) return std::nullopt;
  const int64_t begin = begin_frame - first_row_;
  const int64_t count = end_frame - begin_frame;
  const bool are_kept = begin >= 0 && count > 0 && begin + count <= rows_.count();
  return Matrix(are_kept ? rows_.rows().Part(begin, count)
                         : ConstRows{rows_.type(), nullptr, 0, rows_.dim()});
}

bool HeadDecoding::RowsAreConsistent(int64_t end_frame) const {
  return rows_.count() <= RescoringOptions::kMaxFrames &&
         (rows_.count() == 0 || first_row_ + rows_.count() == end_frame) && AllFinite(rows_.rows());
}

}  // namespace runnel
