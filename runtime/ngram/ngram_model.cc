#include "runtime/ngram/ngram_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/ngram/image_check.h"
#include "runtime/text/vocabulary.h"

namespace runnel {
namespace {

MappedBytes Checked(MappedBytes image, const std::string& source) {
  CheckImage(image.data(), image.size(), source);
  return image;
}

template <typename Item>
const Item* ItemsAt(const MappedBytes& image, uint64_t offset) {
  return reinterpret_cast<const Item*>(image.data() + offset);
}

// The index of `word` among entries [begin, end), which are sorted, or kNoIndex.
template <typename Entry>
uint32_t FindWord(const Entry* entries, uint32_t begin, uint32_t end, uint32_t word) {
  const Entry* found =
      std::lower_bound(entries + begin, entries + end, word,
                       [](const Entry& entry, uint32_t wanted) { return entry.word < wanted; });
  if (found == entries + end || found->word != word) return kNoIndex;
  return static_cast<uint32_t>(found - entries);
}

}  // namespace

NgramModel::NgramModel(MappedBytes image, const std::string& source)
    : image_(Checked(std::move(image), source)),
      vocabulary_(ItemsAt<VocabularyNode>(image_, ImageLayout(header()).vocabulary),
                  image_.data() + ImageLayout(header()).labels),
      levels_() {
  const ImageLayout layout(header());
  for (int k = 0; k + 1 < order(); ++k) levels_[k] = ItemsAt<NgramEntry>(image_, layout.levels[k]);
  leaves_ = ItemsAt<LeafEntry>(image_, layout.levels[order() - 1]);
  most_log10_prob_ = MostLog10Prob();
  most_probable_words_ = MostProbableWords();
  start_ = Empty();
  if (start_word() != kUnknownWord) Log10Prob(Empty(), start_word(), &start_);
}

NgramModel::Context NgramModel::Empty() {
  Context context;
  context.nodes.fill(kNoIndex);
  return context;
}

float NgramModel::EntryLog10(int level, uint32_t entry) const {
  return level < order() ? levels_[level - 1][entry].log10_prob : leaves_[entry].log10_prob;
}

uint32_t NgramModel::Child(int level, uint32_t entry, uint32_t word) const {
  const uint32_t begin = levels_[level - 1][entry].first_child;
  const uint32_t end = levels_[level - 1][entry + 1].first_child;
  return level + 1 < order() ? FindWord(levels_[level], begin, end, word)
                             : FindWord(leaves_, begin, end, word);
}

bool NgramModel::Matters(int level, uint32_t entry) const {
  const NgramEntry* entries = levels_[level - 1] + entry;
  return entries[0].first_child < entries[1].first_child || entries[0].log10_backoff != 0;
}

double NgramModel::Log10Prob(const Context& context, uint32_t word, Context* next) const {
  if (word == kUnknownWord) {
    word = unknown_word();
    if (word == kUnknownWord) {
      *next = Empty();
      return 0;
    }
  }
  Context after = Empty();
  double log10_prob = 0;
  bool is_found = false;
  // From the longest context down. Also the shorter ones are looked up, for the context after the
  // word.
  for (int length = order() - 1; length >= 0; --length) {
    const uint32_t node = length > 0 ? context.nodes[length - 1] : kNoIndex;
    if (length > 0 && node == kNoIndex) continue;
    const uint32_t entry = length > 0 ? Child(length, node, word) : word;
    if (entry != kNoIndex) {
      const float entry_log10 = is_found ? kPlaceholder : EntryLog10(length + 1, entry);
      if (entry_log10 != kPlaceholder) {
        log10_prob += entry_log10;
        is_found = true;
      }
      if (length + 1 < order() && Matters(length + 1, entry)) after.nodes[length] = entry;
    }
    if (!is_found && length > 0) log10_prob += levels_[length - 1][node].log10_backoff;
  }
  *next = after;
  return log10_prob;
}

double NgramModel::Log10Unigram(uint32_t word) const { return EntryLog10(1, word); }

std::vector<std::string> NgramModel::MostProbableWords() const {
  constexpr size_t kMost = 1000;
  std::vector<uint32_t> words;
  for (uint32_t word = 0; word < num_words(); ++word) {
    if (!is_special(word)) words.push_back(word);
  }
  // Words of equal probability are chosen from the whole vocabulary, not from its beginning.
  const auto is_before = [this](uint32_t a, uint32_t b) {
    constexpr uint32_t kSpread = 2654435761;  // odd: different words stay different
    const double log10_a = Log10Unigram(a);
    const double log10_b = Log10Unigram(b);
    return log10_a != log10_b ? log10_a > log10_b : a * kSpread < b * kSpread;
  };
  const size_t kept = std::min(kMost, words.size());
  std::partial_sort(words.begin(), words.begin() + static_cast<ptrdiff_t>(kept), words.end(),
                    is_before);
  words.resize(kept);

  std::vector<uint32_t> places(num_words(), kNoIndex);  // in `spellings`
  for (size_t i = 0; i < kept; ++i) places[words[i]] = static_cast<uint32_t>(i);
  std::vector<std::string> spellings(kept);
  for (uint32_t node = 0; node < header().num_vocabulary_nodes; ++node) {
    const uint32_t word = vocabulary_.WordAt(node);
    if (word == kNoIndex || places[word] == kNoIndex) continue;
    spellings[places[word]] = vocabulary_.Spelling(node);
  }
  spellings.erase(std::remove_if(spellings.begin(), spellings.end(),
                                 [](const std::string& word) { return IsBracketed(word); }),
                  spellings.end());
  return spellings;
}

// The largest probability of a level with the largest back-off weights of the levels from there on.
double NgramModel::MostLog10Prob() const {
  double most = EntryLog10(1, 0);
  double backoffs = 0;
  for (int level = order(); level >= 1; --level) {
    const uint32_t count = header().num_entries[level - 1];
    float most_prob = -std::numeric_limits<float>::max();
    float most_backoff = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const float log10_prob = EntryLog10(level, i);
      most_prob = std::max(most_prob, log10_prob == kPlaceholder ? most_prob : log10_prob);
      if (level < order())
        most_backoff = std::max(most_backoff, levels_[level - 1][i].log10_backoff);
    }
    backoffs += most_backoff;
    if (count > 0) most = std::max(most, static_cast<double>(most_prob) + backoffs);
  }
  return most;
}

}  // namespace runnel
