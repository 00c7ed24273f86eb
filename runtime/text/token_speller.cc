#include "runtime/text/token_speller.h"

#include <algorithm>
#include <utility>

namespace runnel {

TokenSpeller::TokenSpeller(std::vector<std::string> token_texts) {
  std::sort(token_texts.begin(), token_texts.end());
  token_texts.erase(std::unique(token_texts.begin(), token_texts.end()), token_texts.end());
  if (!token_texts.empty() && token_texts.front().empty()) token_texts.erase(token_texts.begin());
  for (const std::string& text : token_texts) {
    boundary_begins_token_ = boundary_begins_token_ || text.front() == kBoundary;
    boundary_ends_token_ = boundary_ends_token_ || text.back() == kBoundary;
  }
  if (!token_texts.empty()) tokens_ = std::make_unique<const Tree>(token_texts);
}

// Dynamic programming over the positions between tokens.
size_t TokenSpeller::FirstUnspelled(std::string_view text) const {
  if (text.empty()) return kSpelled;
  std::vector<char> reached(text.size() + 1, 0);
  reached[0] = 1;
  if (text.front() == kBoundary && boundary_ends_token_) reached[1] = 1;
  size_t furthest = 0;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (reached[begin] == 0) continue;
    furthest = begin;
    MarkTokenEnds(text, begin, &reached);
  }
  const bool next_may_end_it = text.back() == kBoundary && boundary_begins_token_;
  if (next_may_end_it && reached[text.size() - 1] != 0) return kSpelled;
  return reached[text.size()] != 0 ? kSpelled : furthest;
}

void TokenSpeller::MarkTokenEnds(std::string_view text, size_t begin,
                                 std::vector<char>* reached) const {
  if (tokens_ == nullptr) return;
  const auto mark_from = [&](int32_t node) {
    for (size_t end = begin; node != Tree::kNone; ++end) {
      if (tokens_->At(node).sequence != Tree::kNone) (*reached)[end] = 1;
      if (end == text.size()) return;
      node = tokens_->Child(node, static_cast<uint8_t>(text[end]));
    }
  };
  mark_from(Tree::kRoot);
  // A boundary at the start of a token after a boundary counts once.
  if (begin > 0 && text[begin - 1] == kBoundary) {
    mark_from(tokens_->Child(Tree::kRoot, static_cast<uint8_t>(kBoundary)));
  }
}

}  // namespace runnel
