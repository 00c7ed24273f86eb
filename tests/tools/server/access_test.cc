// Bearer tokens, addresses behind proxies, queries.
#include "tools/server/access.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runnel::server {
namespace {

TEST(AccessRules, WithoutTokenEverybodyMay) { EXPECT_TRUE(AccessRules("", "").IsAllowed("", "/")); }

TEST(AccessRules, Token) {
  const AccessRules rules("se+cret", "");
  EXPECT_TRUE(rules.IsAllowed("Bearer se+cret", "/"));
  EXPECT_TRUE(rules.IsAllowed("bearer  se+cret ", "/"));
  EXPECT_TRUE(rules.IsAllowed("", "/?a=b&token=se%2Bcret"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer se+cre", "Bearer se+crett", "se+cret",
                            "Basic se+cret", "Bearerse+cret"}) {
    EXPECT_FALSE(rules.IsAllowed(wrong, "/")) << wrong;
  }
  EXPECT_FALSE(rules.IsAllowed("", "/?token=se+cret"));  // a plus is a space in a query
  EXPECT_FALSE(rules.IsAllowed("Bearer wrong", "/?token=se%2Bcret"));
}

TEST(AccessRules, OnlyTrustedProxiesAreBelieved) {
  const AccessRules rules("", "10.0.0.1, ::1");
  EXPECT_EQ(rules.ClientAddress("1.2.3.4", "5.6.7.8"), "1.2.3.4");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "5.6.7.8"), "5.6.7.8");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "9.9.9.9, 5.6.7.8, ::1"), "5.6.7.8");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "5.6.7.8, nonsense"), "10.0.0.1");
  EXPECT_THROW(AccessRules("", "somebody"), std::invalid_argument);
}

TEST(QueryValue, FindsAndDecodes) {
  EXPECT_EQ(QueryValue("/a?x=1&y=a%20b+c%2", "y"), "a b c%2");
  EXPECT_EQ(QueryValue("/a?x=1", "y"), "");
  EXPECT_EQ(QueryValue("/a", "x"), "");
  EXPECT_EQ(QueryValue("/a?xx=2&x=3&x=4", "x"), "3");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(QueryFields("/a?x=1&&y=a%20b&z&=2"),
            (Fields{{"x", "1"}, {"y", "a b"}, {"z", ""}, {"", "2"}}));
  EXPECT_EQ(QueryFields("/a"), Fields());
  EXPECT_EQ(QueryValue("/a?&&x&=&x=%zz", "x"), "%zz");
}

}  // namespace
}  // namespace runnel::server
