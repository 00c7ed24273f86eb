// Which pages may use a server, by the headers of their browsers.
#include "tools/server/resources/origins.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace runnel::server {
namespace {

TEST(OriginRules, OwnPagesOnly) {
  const OriginRules rules("", /*is_local=*/false);
  EXPECT_TRUE(rules.IsAllowed("", "any")) << "no browser";
  EXPECT_TRUE(rules.IsAllowed("https://asr.example.org", "asr.example.org"));
  EXPECT_TRUE(rules.IsAllowed("https://asr.example.org", "ASR.example.org:443"));
  EXPECT_TRUE(rules.IsAllowed("http://asr.example.org:8080", "asr.example.org:8080"));
  EXPECT_TRUE(rules.IsAllowed("http://[::1]:8080", "[::1]:8080"));
  for (const char* other :
       {"https://evil.example", "http://asr.example.org:8081",
        "https://asr.example.org.evil.example", "null", "file://", "asr.example.org", "https://"}) {
    EXPECT_FALSE(rules.IsAllowed(other, "asr.example.org")) << other;
  }
  EXPECT_FALSE(rules.IsAllowed("https://", ""));
  EXPECT_FALSE(rules.IsListed("https://asr.example.org"));
}

TEST(OriginRules, NoNameMeansALocalServer) {
  const OriginRules rules("https://asr.example.org", /*is_local=*/true);
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "app.localhost"}) {
    EXPECT_TRUE(rules.IsAllowed(std::string("http://") + host, host)) << host;
  }
  for (const char* host :
       {"evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"}) {
    EXPECT_FALSE(rules.IsAllowed(std::string("http://") + host, host)) << host;
  }
  EXPECT_TRUE(rules.IsAllowed("https://asr.example.org", "asr.example.org")) << "listed";
}

TEST(OriginRules, ListedPages) {
  const OriginRules rules("https://app.example.org, http://localhost:3000", /*is_local=*/true);
  EXPECT_TRUE(rules.IsListed("https://APP.example.org"));
  EXPECT_TRUE(rules.IsAllowed("http://localhost:3000", "127.0.0.1:8080"));
  EXPECT_FALSE(rules.IsAllowed("http://app.example.org", "127.0.0.1:8080"));
  EXPECT_FALSE(rules.IsListed(""));
  EXPECT_TRUE(OriginRules("*", true).IsListed("https://any.example"));
  EXPECT_TRUE(OriginRules("null", true).IsAllowed("null", "127.0.0.1"));
  for (const char* wrong : {"example.org", "https://", "https://example.org/"}) {
    EXPECT_THROW(OriginRules(wrong, false), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace runnel::server
