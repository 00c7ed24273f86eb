// Checks the tree of a beam's token sequences: the best one, what all begin with, and its list.
#include "runtime/search/token_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/snapshot/state_fields.h"

namespace runnel {
namespace {

using Ids = std::vector<int32_t>;

struct TreeToken {
  int32_t token = 0;
  int32_t length = 0;
};

struct Ending {
  int32_t node = 0;
};

class TokenTreeTest : public ::testing::Test {
 protected:
  static constexpr int32_t kRoot = TokenTree<TreeToken>::kRoot;

  // Adds a sequence; the beam holds its end only.
  int32_t Add(int32_t from, const Ids& ids) {
    for (const int32_t id : ids) {
      const int32_t node = tree_.Add(from, {id});
      if (from != kRoot && from != kept_) tree_.Release(from);
      from = node;
    }
    return from;
  }

  template <class Fields, class List>
  static void Visit(List& list, Fields* fields) {
    ListedTree<TreeToken>::VisitState(list, *fields, sizeof(int32_t),
                                      [&](auto& value) { fields->Value(value.token); });
  }

  TokenTree<TreeToken> tree_;
  int32_t kept_ = kRoot;  // whose reference Add leaves alone
};

TEST_F(TokenTreeTest, BestIdsChangeFromWhereThePathsPart) {
  const int32_t stem = kept_ = Add(kRoot, {1, 2});
  std::vector<Ending> beam = {{Add(stem, {3, 4})}, {Add(stem, {5})}};
  tree_.Release(stem);
  tree_.Follow(beam);
  EXPECT_EQ(tree_.best_ids(), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(tree_.num_stable(), 2U);

  std::swap(beam[0], beam[1]);
  tree_.Follow(beam);
  EXPECT_EQ(tree_.best_ids(), (Ids{1, 2, 5}));
  EXPECT_EQ(tree_.num_stable(), 2U);

  tree_.Release(beam[1].node);
  beam.pop_back();
  tree_.Follow(beam);
  EXPECT_EQ(tree_.num_stable(), 3U);
  EXPECT_EQ(tree_.num_nodes(), 4U);  // with the root: those of the other sequence are gone
}

TEST_F(TokenTreeTest, ASequenceThatOthersContinueBoundsWhatIsStable) {
  const int32_t shorter = kept_ = Add(kRoot, {1});
  const std::vector<Ending> beam = {{Add(shorter, {2, 3})}, {shorter}};
  tree_.Follow(beam);
  EXPECT_EQ(tree_.num_stable(), 1U);
}

TEST_F(TokenTreeTest, FindsAHypothesisByItsTokens) {
  const int32_t stem = kept_ = Add(kRoot, {1});
  const std::vector<Ending> beam = {{Add(stem, {2})}, {Add(stem, {3})}};
  const auto find = [&](const Ids& ids) {
    std::vector<TokenSpan> tokens;
    for (const int32_t id : ids) tokens.push_back({id});
    return tree_.FindOrBest(beam, tokens).node;
  };
  EXPECT_EQ(find({1, 3}), beam[1].node);
  EXPECT_EQ(find({1}), beam[0].node);
  EXPECT_EQ(find({3, 1}), beam[0].node);
}

TEST_F(TokenTreeTest, AListHasParentsBeforeTheirChildren) {
  const int32_t stem = kept_ = Add(kRoot, {1});
  const Ids ends = {Add(stem, {2}), Add(stem, {3})};
  const ListedTree<TreeToken> list(tree_, ends);
  StateWriter writer;
  Visit(list, &writer);
  const std::string bytes = writer.Take();

  ListedTree<TreeToken> read;
  StateReader reader(bytes);
  Visit(read, &reader);
  EXPECT_EQ(read.Problem("tokens"), "");
  const Ids tokens = read.AlongPaths(
      0, [](int32_t above, const TreeToken& value) { return 10 * above + value.token; });
  EXPECT_EQ(tokens, (Ids{0, 1, 12, 13}));
  const Ids names = {list.NameOf(ends[0]), list.NameOf(ends[1])};
  EXPECT_EQ(names, (Ids{2, 3}));
  EXPECT_TRUE(read.EachLeadsTo(names));
  EXPECT_FALSE(read.EachLeadsTo({names[0]}));
  EXPECT_TRUE(read.Has(3));
  EXPECT_FALSE(read.Has(4));
  EXPECT_FALSE(read.Has(-1));
}

TEST_F(TokenTreeTest, RefusesAListWithAParentThatComesLater) {
  for (const int32_t parent : {-1, 1, 2}) {
    StateWriter writer;
    writer.Count(1, 1);
    writer.Value(parent);
    writer.Value(int32_t{7});
    const std::string bytes = writer.Take();
    ListedTree<TreeToken> read;
    StateReader reader(bytes);
    Visit(read, &reader);
    EXPECT_EQ(read.Problem("tokens"), "the tree of tokens has a parent after its child");
  }
}

}  // namespace
}  // namespace runnel
