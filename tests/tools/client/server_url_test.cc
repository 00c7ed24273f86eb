#include "tools/client/server_url.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace runnel::client {
namespace {

struct Expected {
  const char* text;
  bool is_tls;
  const char* host;
  int port;
  const char* target;
  const char* authority;
};

TEST(ServerUrlTest, Parts) {
  for (const Expected& expected : std::vector<Expected>{
           {"ws://127.0.0.1:8080/", false, "127.0.0.1", 8080, "/", "127.0.0.1:8080"},
           {"ws://localhost", false, "localhost", 80, "/", "localhost"},
           {"wss://asr.example.org", true, "asr.example.org", 443, "/", "asr.example.org"},
           {"WSS://Host:65535/a/b?c=d", true, "Host", 65535, "/a/b?c=d", "Host:65535"},
           {"http://[::1]:1/x", false, "::1", 1, "/x", "[::1]:1"},
           {"https://[fe80::2]", true, "fe80::2", 443, "/", "[fe80::2]"},
           {"ws://h:443", false, "h", 443, "/", "h:443"},
           {"wss://h:80?q", true, "h", 80, "/?q", "h:80"}}) {
    const ServerUrl url = ParseServerUrl(expected.text);
    EXPECT_EQ(url.is_tls, expected.is_tls) << expected.text;
    EXPECT_EQ(url.host, expected.host) << expected.text;
    EXPECT_EQ(url.port, expected.port) << expected.text;
    EXPECT_EQ(url.target, expected.target) << expected.text;
    EXPECT_EQ(url.Authority(), expected.authority) << expected.text;
    EXPECT_EQ(ParseServerUrl(url.Text()).Text(), url.Text()) << expected.text;
  }
}

TEST(ServerUrlTest, WhatIsNoServer) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "has no scheme"},
           {"127.0.0.1:8080", "has no scheme"},
           {"ftp://host/", "has the scheme 'ftp'"},
           {"://host/", "has the scheme ''"},
           {"ws://", "has no host"},
           {"ws:///path", "has no host"},
           {"ws://:80/", "has no host"},
           {"ws://[]:80/", "has no host"},
           {"ws://host:/", "has the port ''"},
           {"ws://host:0/", "has the port '0'"},
           {"ws://host:65536/", "has the port '65536'"},
           {"ws://host:-1/", "has the port '-1'"},
           {"ws://host:80x/", "has the port '80x'"},
           {"ws://::1/", "has no host"},
           {"ws://a:b:1/", "has the port 'b:1'"},
           {"ws://[::1/", "has a [ without a ]"},
           {"ws://[::1]80/", "has something between ] and the port"},
           {"ws://me:secret@host/", "has a user name"},
           {"ws://host/#top", "has a fragment"},
           {"ws://host/a b", "has white space"},
           {"ws://host/\r\nX: y", "has white space"}}) {
    try {
      ParseServerUrl(text);
      FAIL() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

TEST(ServerUrlTest, Lists) {
  const std::vector<ServerUrl> urls = ParseServerUrls("ws://a:1/,wss://b/c");
  ASSERT_EQ(urls.size(), 2U);
  EXPECT_EQ(urls[0].Text(), "ws://a:1/");
  EXPECT_EQ(urls[1].Text(), "wss://b/c");
  EXPECT_THROW(ParseServerUrls(""), std::invalid_argument);
  EXPECT_THROW(ParseServerUrls("ws://a:1/,"), std::invalid_argument);
}

}  // namespace
}  // namespace runnel::client
