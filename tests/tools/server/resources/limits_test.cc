// The table of limits: ranges, metrics and the page that documents it.
#include "tools/server/resources/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tools/server/resources/metrics.h"

namespace runnel::server {
namespace {

std::string Message(const Limits& limits) {
  try {
    CheckLimits(limits);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Limits, EachRowIsOneField) {
  EXPECT_EQ(Message(Limits()), "");
  std::set<std::string> names;
  for (const LimitRow& row : LimitTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " has two rows";
    Limits limits;
    std::visit([&](const auto field) { limits.*field = row.max; }, row.field);
    EXPECT_EQ(Message(limits), "");
    std::visit([&](const auto field) { limits.*field = row.min - 1; }, row.field);
    EXPECT_EQ(Message(limits).find(std::string("--") + row.name + " is "), 0U) << Message(limits);
  }
  EXPECT_EQ(names.size(), 40U);
}

// As few descriptors allow.
TEST(Limits, FewerConnectionsAreFewerOfAnAddress) {
  const Limits few = WithConnections(Limits(), 114);
  EXPECT_EQ(few.max_connections, 114);
  EXPECT_EQ(few.max_connections_per_address, 23);
  EXPECT_EQ(WithConnections(Limits(), 1).max_connections_per_address, 1);
  Limits unlimited;
  unlimited.max_connections_per_address = 0;
  EXPECT_EQ(WithConnections(unlimited, 114).max_connections_per_address, 0);
}

TEST(Limits, MessagesNameValueAndRange) {
  Limits limits;
  limits.snapshot_ttl_s = 10000000000;
  EXPECT_EQ(Message(limits), "--snapshot_ttl_s is 10000000000, expected 1 to 31536000 s");
  limits = {};
  limits.send_timeout_s = 0.05;
  EXPECT_EQ(Message(limits), "--send_timeout_s is 0.05, expected 0.1 to 1000000000 s");
  limits.max_streams = 0;
  EXPECT_EQ(Message(limits), "--max_streams is 0, expected 1 to 1099511627776");
  limits = {};
  limits.send_timeout_s = std::nan("");
  EXPECT_EQ(Message(limits), "--send_timeout_s is nan, expected 0.1 to 1000000000 s");
}

TEST(Limits, EachMetricIsExported) {
  const std::string exported = Metrics().Text({});
  for (const LimitRow& row : LimitTable()) {
    EXPECT_NE(exported.find(row.metric), std::string::npos) << row.name << ": " << row.metric;
  }
}

TEST(Limits, AreDocumented) {
  std::ifstream file(RUNNEL_SOURCE_DIR "/docs/deploy.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(LimitTableAsMarkdown()), std::string::npos)
      << "docs/deploy.md must contain this table:\n"
      << LimitTableAsMarkdown();
}

}  // namespace
}  // namespace runnel::server
