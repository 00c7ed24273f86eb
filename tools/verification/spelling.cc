#include "tools/verification/spelling.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace runnel {
namespace {

// The vocabulary by text.
class Speller {
 public:
  explicit Speller(const TokenTable& tokens) : has_boundaries_(tokens.has_word_boundaries()) {
    for (int32_t id = 0; id < tokens.size(); ++id) {
      if (tokens.IsText(id) && !tokens.IsByte(id)) Add(tokens.text(id), id);
    }
    for (int32_t id = 0; id < tokens.size(); ++id) {  // where no other token has this text
      if (tokens.IsByte(id)) Add(tokens.text(id), id);
    }
  }

  bool has_boundaries() const { return has_boundaries_; }

  // The fewest tokens whose texts, joined as they are, make `text`; none if no tokens do.
  std::optional<std::vector<int32_t>> Spell(std::string_view text) const {
    constexpr size_t kUnreached = std::numeric_limits<size_t>::max();
    struct Prefix {
      size_t num_tokens = kUnreached;
      size_t last_size = 0;  // of its last token
    };
    std::vector<Prefix> prefixes(text.size() + 1);
    prefixes[0].num_tokens = 0;
    for (size_t end = 1; end <= text.size(); ++end) {
      for (size_t size = 1; size <= std::min(longest_, end); ++size) {
        const Prefix& before = prefixes[end - size];
        if (before.num_tokens == kUnreached || before.num_tokens + 1 >= prefixes[end].num_tokens) {
          continue;
        }
        if (ids_.count(text.substr(end - size, size)) == 0) continue;
        prefixes[end] = {before.num_tokens + 1, size};
      }
    }
    if (prefixes.back().num_tokens == kUnreached) return std::nullopt;
    std::vector<int32_t> ids;
    for (size_t end = text.size(); end > 0; end -= prefixes[end].last_size) {
      const size_t size = prefixes[end].last_size;
      ids.push_back(ids_.at(text.substr(end - size, size)));
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
  }

 private:
  void Add(const std::string& text, int32_t id) {
    ids_.emplace(text, id);
    longest_ = std::max(longest_, text.size());
  }

  std::unordered_map<std::string_view, int32_t> ids_;  // the texts belong to the token table
  size_t longest_ = 0;                                 // bytes
  bool has_boundaries_;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// As TokenTable::Text joins words.
std::string Joined(const std::vector<std::string>& words, bool has_boundaries) {
  std::string text;
  for (const std::string& word : words) {
    if (has_boundaries && !text.empty()) text += ' ';
    text += word;
  }
  return text;
}

std::optional<std::vector<int32_t>> SpellWords(const Speller& speller, const std::string& text) {
  if (!speller.has_boundaries() || text.empty()) return speller.Spell(text);
  if (auto ids = speller.Spell(" " + text)) return ids;
  return speller.Spell(text + " ");
}

[[noreturn]] void ThrowUnspelled(const Speller& speller, const std::vector<std::string>& words) {
  const auto unspelled = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return !SpellWords(speller, word);
  });
  const std::string& culprit = unspelled != words.end() ? *unspelled : words.front();
  throw std::runtime_error("the tokens of the model cannot spell '" + culprit +
                           "' of the reference text; expected words as the model writes them");
}

}  // namespace

std::vector<int32_t> ReferenceTokens(const std::string& text,
                                     const std::vector<int32_t>& recognised,
                                     const TokenTable& tokens) {
  const Speller speller(tokens);
  const std::vector<std::string> words = Words(text);
  const std::string joined = Joined(words, speller.has_boundaries());
  if (tokens.Text(recognised) == joined) return recognised;
  if (auto ids = SpellWords(speller, joined)) return *ids;
  ThrowUnspelled(speller, words);
}

}  // namespace runnel
