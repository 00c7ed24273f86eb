// Bearer tokens, addresses behind proxies, queries.
#include "tools/server/resources/access.h"

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

TEST(AccessRules, TokenOfOtherClients) {
  const AccessRules strict("se+cret", "");
  EXPECT_FALSE(strict.IsAllowed("Token se+cret", "/"));
  EXPECT_FALSE(strict.IsAllowed("", "/", {"token", "se+cret"}));
  const AccessRules rules("se+cret", "", {{"token"}, {"token", "bearer"}, {"key."}});
  EXPECT_TRUE(rules.IsAllowed("Token se+cret", "/"));
  EXPECT_TRUE(rules.IsAllowed("", "/", {"token", "se+cret"}));
  EXPECT_TRUE(rules.IsAllowed("", "/", {"bearer", "se+cret"}));
  EXPECT_TRUE(rules.IsAllowed("", "/", {"realtime", "key.se+cret"}));
  EXPECT_FALSE(rules.IsAllowed("Token wrong", "/", {"token", "se+cret"}));
  using Offer = std::vector<std::string>;
  for (const Offer& wrong : {Offer{"token"}, Offer{"token", "wrong"}, Offer{"se+cret", "token"},
                             Offer{"realtime"}, Offer{"key."}}) {
    EXPECT_FALSE(rules.IsAllowed("", "/", wrong)) << wrong.front();
  }
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

TEST(AccessRules, AddressesAreComparedAsAddresses) {
  const AccessRules rules("", "2001:DB8:0:0::1, ::ffff:10.0.0.1, fe80::1");
  for (const char* proxy : {"2001:db8::1", "2001:0db8::0001", "10.0.0.1", "::ffff:10.0.0.1",
                            "::FFFF:a00:1", "fe80::1%eth0"}) {
    EXPECT_TRUE(rules.IsTrusted(proxy)) << proxy;
    EXPECT_EQ(rules.ClientAddress(proxy, "5.6.7.8"), "5.6.7.8") << proxy;
  }
  EXPECT_FALSE(rules.IsTrusted("2001:db8::2"));
  EXPECT_FALSE(rules.IsTrusted(""));
  // One client has one name, however its proxy writes it.
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "2001:DB8::A"), "2001:db8::a");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "::ffff:5.6.7.8"), "5.6.7.8");
  EXPECT_EQ(rules.ClientAddress("10.0.0.1", "5.6.7.8, 2001:0DB8::1"), "5.6.7.8");
  for (const char* wrong : {"10.0.0", "10.0.0.1/8", "localhost", "1::2::3", "%eth0"}) {
    EXPECT_THROW(AccessRules("", wrong), std::invalid_argument) << wrong;
    EXPECT_EQ(NormalAddress(wrong), "");
  }
}

TEST(AccessRules, ForwardedAddressesMayHaveAPort) {
  const AccessRules rules("", "10.0.0.1, 2001:db8::1");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"9.9.9.9:1111", "9.9.9.9"},
      {"9.9.9.8:65535", "9.9.9.8"},
      {"[2001:db8::2]", "2001:db8::2"},
      {"[2001:DB8::2]:443", "2001:db8::2"},
      {"[::ffff:9.9.9.9]:443", "9.9.9.9"},
      {"2001:db8::2:443", "2001:db8::2:443"},  // without brackets all of it is the address
      {"9.9.9.9:1, 10.0.0.1:2, [2001:db8::1]:3", "9.9.9.9"},
  };
  for (const auto& [header, address] : cases) {
    EXPECT_EQ(rules.ClientAddress("10.0.0.1", header), address) << header;
  }
  for (const char* wrong :
       {"9.9.9.9:", "9.9.9.9:http", ":80", "[2001:db8::2", "[2001:db8::2]:", "[2001:db8::2]x", "[]",
        "[", "[]:80", "[9", "unknown", "_hidden", "9.9.9.9:123456", "9.9.9.9:1:2"}) {
    EXPECT_EQ(rules.ClientAddress("10.0.0.1", wrong), "10.0.0.1") << wrong;
  }
}

TEST(AccountOf, IsAnAddressOrANetwork) {
  EXPECT_EQ(AccountOf("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(AccountOf("::ffff:10.0.0.1"), "10.0.0.1");
  for (const char* address : {"2001:db8:1:2::1", "2001:DB8:1:2:ffff::9", "2001:db8:1:2::%eth0"}) {
    EXPECT_EQ(AccountOf(address), "2001:db8:1:2::/64");
  }
  EXPECT_EQ(AccountOf("2001:db8:1:3::1"), "2001:db8:1:3::/64");
  EXPECT_EQ(AccountOf("::1"), "::1");
  EXPECT_EQ(AccountOf(""), "");
  EXPECT_EQ(AccountOf("somebody"), "somebody");
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
