// Shares of accounts on a clock that the test sets: who gets one, and who gives one up.
#include "tools/server/resources/shares.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace runnel::server {
namespace {

using Held = std::shared_ptr<Shares::Share>;

constexpr std::chrono::seconds kPatience{12};

Shares::Time At(int seconds) { return Shares::Time() + std::chrono::seconds(seconds); }

class SharesTest : public ::testing::Test {
 protected:
  // A share of 1 that is offered under this name.
  Held Take(Shares* shares, const std::string& account, const std::string& name, int now) {
    Held share = shares->Take(account, 1, At(now));
    if (share != nullptr) share->Offer(kPatience, [this, name] { given_up_.push_back(name); });
    return share;
  }

  std::vector<std::string> given_up_;
};

TEST_F(SharesTest, AreGivenBack) {
  Shares shares(2);
  for (int round = 0; round < 3; ++round) {
    const Held a = shares.Take("a", 1, At(0));
    const Held b = shares.Take("b", 1, At(0));
    EXPECT_TRUE(a && b);
    EXPECT_EQ(shares.Take("c", 1, At(100)), nullptr) << "nobody offers a share";
    EXPECT_EQ(shares.AmountOf("a"), 1);
    EXPECT_FALSE(shares.HasRoom(At(100)));
  }
  EXPECT_EQ(shares.amount(), 0);
}

TEST_F(SharesTest, TheAccountWithMostGivesUpWhatItDoesNotUse) {
  Shares shares(3);
  const Held a1 = Take(&shares, "a", "a1", 0);
  const Held a2 = Take(&shares, "a", "a2", 1);
  const Held b = Take(&shares, "b", "b", 0);
  a2->Use(At(1));
  a1->Use(At(3));
  EXPECT_EQ(Take(&shares, "c", "c", 4), nullptr) << "too soon";
  EXPECT_FALSE(shares.HasRoom(At(4)));
  EXPECT_TRUE(shares.HasRoom(At(5)));
  const Held c = Take(&shares, "c", "c", 12);
  EXPECT_TRUE(c);
  EXPECT_EQ(given_up_, std::vector<std::string>{"a2"}) << "not used for longest, though b is older";
  EXPECT_EQ(shares.AmountOf("a"), 1);
}

TEST_F(SharesTest, AnAccountWithoutOneTakesAnyThatIsNotUsed) {
  Shares shares(2);
  const Held a = Take(&shares, "a", "a", 0);
  const Held b = Take(&shares, "b", "b", 0);
  b->Use(At(12));
  EXPECT_FALSE(shares.HasRoom(At(11))) << "a holds no more than c would";
  EXPECT_TRUE(shares.HasRoom(At(12)));
  const Held c = shares.Take("c", 1, At(12));
  EXPECT_TRUE(c);
  EXPECT_EQ(given_up_, std::vector<std::string>{"a"});
  EXPECT_EQ(Take(&shares, "c", "c2", 100), nullptr) << "b would hold less than c";
}

// Clients that come again at once, by themselves or when their shares are given up.
TEST_F(SharesTest, LargeAccountsDoNotKeepASmallOneOut) {
  for (const bool leave : {false, true}) {
    Shares shares(9);
    std::vector<Held> large;
    for (int now = 0; now < 100; ++now) {
      if (leave && now % 3 == 0) large.clear();
      for (int tries = 0; tries < 20; ++tries) {
        for (const std::string account : {"a", "b"}) {
          large.push_back(Take(&shares, account, "", now));
        }
      }
      EXPECT_EQ(shares.amount(), 9);
      EXPECT_TRUE(shares.Take("c", 1, At(now))) << now;
    }
  }
  EXPECT_GT(given_up_.size(), 200U);
}

TEST_F(SharesTest, AShareThatWasUsedHasAThirdOfTheTimeBesideASmallAccount) {
  Shares shares(2);
  const Held a1 = Take(&shares, "a", "a1", 0);
  const Held a2 = Take(&shares, "a", "a2", 0);
  for (const Held& share : {a1, a2}) share->Use(At(10));
  EXPECT_EQ(Take(&shares, "b", "b", 13), nullptr);
  EXPECT_TRUE(Take(&shares, "b", "b", 14));
}

// Each of them would otherwise end the one that came just before.
TEST_F(SharesTest, NewcomersTakeTheOldestOfTheirAccount) {
  Shares shares(3);
  std::vector<Held> held;
  for (const std::string name : {"0", "1", "2"}) held.push_back(Take(&shares, "a", name, 0));
  for (int i = 0; i < 3; ++i) held.push_back(Take(&shares, "a", "new", 12 + i));
  EXPECT_EQ(given_up_.size(), 3U);
  for (const std::string& name : given_up_) EXPECT_NE(name, "new");
}

TEST_F(SharesTest, AShareThatTookAPlaceHasItsTimeBesideEquals) {
  Shares shares(2);
  const Held a = Take(&shares, "a", "a", 0);
  const Held b = shares.Take("b", 1, At(0));
  const Held c = Take(&shares, "c", "c", 20);
  EXPECT_EQ(given_up_, std::vector<std::string>{"a"});
  EXPECT_EQ(Take(&shares, "d", "d", 31), nullptr);
  EXPECT_TRUE(Take(&shares, "d", "d", 32));
  EXPECT_EQ(given_up_.back(), "c");
}

TEST_F(SharesTest, NothingIsGivenUpInVain) {
  Shares shares(10);
  const Held b1 = shares.Take("b", 4, At(0));
  const Held b2 = shares.Take("b", 4, At(0));
  for (const Held& b : {b1, b2}) b->Offer(kPatience, [this] { given_up_.emplace_back("b"); });
  EXPECT_EQ(shares.Take("a", 7, At(100)), nullptr) << "without b1, b holds less than a would";
  EXPECT_TRUE(given_up_.empty());
  EXPECT_EQ(shares.AmountOf("b"), 8);
  EXPECT_EQ(shares.amount(), 8);
  EXPECT_TRUE(shares.Take("a", 6, At(100)));
  EXPECT_EQ(given_up_, std::vector<std::string>{"b"});
}

TEST_F(SharesTest, AnAccountWithMoreTakesNothingFromOneWithLess) {
  Shares shares(3);
  const Held b = Take(&shares, "b", "b", 0);
  const Held a1 = shares.Take("a", 1, At(0));
  const Held a2 = shares.Take("a", 1, At(0));
  EXPECT_EQ(Take(&shares, "a", "a3", 1000), nullptr);
  EXPECT_TRUE(given_up_.empty());
  a1->Offer(kPatience, [this] { given_up_.emplace_back("a1"); });
  EXPECT_TRUE(Take(&shares, "a", "a3", 1000)) << "it may take its own place";
  EXPECT_EQ(given_up_, std::vector<std::string>{"a1"});
}

TEST_F(SharesTest, AnOfferMayBeTakenBack) {
  Shares shares(2);
  const Held a1 = Take(&shares, "a", "a1", 0);
  const Held a2 = Take(&shares, "a", "a2", 0);
  a1->Offer({}, nullptr);
  a2->Offer({}, nullptr);
  EXPECT_EQ(Take(&shares, "b", "b", 100), nullptr);
  EXPECT_TRUE(given_up_.empty());
}

TEST_F(SharesTest, AShareThatWasGivenUpHoldsNothing) {
  Shares shares(2);
  Held a1 = Take(&shares, "a", "a1", 0);
  const Held a2 = Take(&shares, "a", "a2", 1);
  const Held b = Take(&shares, "b", "b", 20);
  EXPECT_EQ(given_up_, std::vector<std::string>{"a1"});
  EXPECT_FALSE(a1->Grow(1, At(20)));
  a1.reset();
  EXPECT_EQ(shares.amount(), 2);
}

// Its owner may have begun another work with it meanwhile, which ends then.
TEST_F(SharesTest, AnOfferOfAShareThatWasGivenUpIsTakenAtOnce) {
  Shares shares(1);
  const Held a = Take(&shares, "a", "a", 0);
  EXPECT_TRUE(shares.Take("b", 1, At(12)));
  a->Offer(kPatience, nullptr);
  EXPECT_EQ(given_up_, std::vector<std::string>{"a"});
  a->Offer(kPatience, [this] { given_up_.emplace_back("later"); });
  EXPECT_EQ(given_up_, (std::vector<std::string>{"a", "later"}));
}

TEST_F(SharesTest, BytesGoToThoseWhoHoldLess) {
  Shares shares(100);
  const auto body = [&](const std::string& account, const std::string& name, int now) {
    Held share = shares.Take(account, 0, At(now));
    share->Offer({}, [this, name] { given_up_.push_back(name); });
    return share;
  };
  const Held slow = body("a", "slow", 0);
  const Held fast = body("a", "fast", 1);
  const Held honest = body("b", "honest", 2);
  EXPECT_TRUE(slow->Grow(45, At(2)));
  EXPECT_TRUE(fast->Grow(45, At(3)));
  fast->Use(At(3));
  EXPECT_TRUE(honest->Grow(30, At(4)));
  EXPECT_EQ(given_up_, std::vector<std::string>{"slow"});
  EXPECT_TRUE(honest->Grow(20, At(5)));
  EXPECT_EQ(shares.amount(), 95);
  EXPECT_FALSE(honest->Grow(10, At(6))) << "b would hold most, and this is its only share";
  EXPECT_EQ(shares.AmountOf("b"), 50);
}

TEST_F(SharesTest, MayBeOutlived) {
  auto shares = std::make_unique<Shares>(1);
  const Held a = shares->Take("a", 1, At(0));
  shares.reset();
  a->Use(At(1));
}

}  // namespace
}  // namespace runnel::server
