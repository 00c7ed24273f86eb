#include "tools/server/grpc/call_places.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

constexpr CallPlaces::Time kStart{};
constexpr std::chrono::milliseconds kAlmost{999};
constexpr std::chrono::seconds kSecond{1};

TEST(CallPlaces, AreSharedByAccounts) {
  CallPlaces places(/*most=*/3, /*most_of_account=*/2);
  EXPECT_TRUE(places.Take("a", kStart));
  EXPECT_TRUE(places.Take("a", kStart));
  EXPECT_FALSE(places.Take("a", kStart));
  EXPECT_TRUE(places.Take("b", kStart));
  EXPECT_FALSE(places.Take("b", kStart));
  places.Free("a");
  EXPECT_TRUE(places.Take("b", kStart));
}

TEST(CallPlaces, AProxyHasAsManyAsThereAre) {
  CallPlaces places(/*most=*/3, /*most_of_account=*/1);
  EXPECT_TRUE(places.Take("", kStart));
  EXPECT_TRUE(places.Take("", kStart));
  EXPECT_TRUE(places.Take("", kStart));
  EXPECT_FALSE(places.Take("", kStart));
}

TEST(CallPlaces, OfACallThatTheClientEndedIsFreeLater) {
  CallPlaces places(/*most=*/10, /*most_of_account=*/1);
  EXPECT_TRUE(places.Take("a", kStart));
  places.FreeLater("a", kStart);
  EXPECT_FALSE(places.Take("a", kStart + kAlmost));
  EXPECT_TRUE(places.Take("a", kStart + kSecond));
  EXPECT_FALSE(places.Take("a", kStart + kSecond));
}

}  // namespace
}  // namespace runnel::server
