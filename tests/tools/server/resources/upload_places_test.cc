// Places for recordings: shares of accounts, and the order of those that wait.
#include "tools/server/resources/upload_places.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace runnel::server {
namespace {

using Place = UploadPlaces::Place;

// Recordings that wait, by name.
class Waiting {
 public:
  explicit Waiting(UploadPlaces* places) : places_(places) {}

  void Add(const std::string& account, const std::string& name) {
    turns_[name] = places_->Wait(account, [this, name](Place place) {
      order_.push_back(name);
      held_[name] = std::move(place);
    });
  }
  void Leave(const std::string& name) { turns_.erase(name); }
  // The place goes to the next one, which is added to held_ meanwhile.
  void End(const std::string& name) {
    const Place ended = std::move(held_.at(name));
    held_.erase(name);
  }
  const std::vector<std::string>& order() const { return order_; }

 private:
  UploadPlaces* const places_;
  std::vector<std::string> order_;
  std::map<std::string, Place> held_;
  std::map<std::string, UploadPlaces::Turn> turns_;  // end first: then no place is given any more
};

using Names = std::vector<std::string>;

TEST(UploadPlaces, OneAccountTakesItsShareOnly) {
  UploadPlaces places(4, 2);
  std::vector<Place> held;
  for (const char* account : {"a", "a"}) held.push_back(places.Take(account));
  EXPECT_TRUE(held[0] && held[1]);
  EXPECT_EQ(places.Take("a"), nullptr);
  for (const char* account : {"b", "c"}) {
    held.push_back(places.Take(account));
    EXPECT_TRUE(held.back()) << "the first of " << account;
  }
  EXPECT_EQ(places.Take("d"), nullptr) << "all are taken";
  held.clear();
  EXPECT_TRUE(places.Take("d"));
}

TEST(UploadPlaces, AccountsTakeTurns) {
  UploadPlaces places(1, 1);
  Waiting waiting(&places);
  for (const char* name : {"a1", "a2", "a3", "b1", "b2", "c1"}) {
    waiting.Add(std::string(1, name[0]), name);
  }
  EXPECT_EQ(waiting.order(), Names{"a1"}) << "at once";
  for (const char* name : {"a1", "b1", "c1", "a2", "b2", "a3"}) {
    EXPECT_EQ(waiting.order().back(), name);
    waiting.End(name);
  }
  EXPECT_EQ(waiting.order().size(), 6U);
}

TEST(UploadPlaces, ACrowdOfOneAccountKeepsNobodyOut) {
  UploadPlaces places(2, 1);
  Waiting waiting(&places);
  for (int i = 0; i < 100; ++i) waiting.Add("crowd", "crowd" + std::to_string(i));
  EXPECT_EQ(waiting.order(), Names{"crowd0"});
  waiting.Add("honest", "honest");
  EXPECT_EQ(waiting.order().back(), "honest") << "at once";
  waiting.Add("honest", "honest2");
  waiting.End("honest");
  EXPECT_EQ(waiting.order().back(), "honest2");
}

TEST(UploadPlaces, WhoHasGoneGetsNoPlace) {
  UploadPlaces places(1, 1);
  Waiting waiting(&places);
  for (const char* name : {"a", "b", "c"}) waiting.Add(name, name);
  waiting.Leave("b");
  waiting.End("a");
  EXPECT_EQ(waiting.order(), (Names{"a", "c"}));
  waiting.End("c");
  EXPECT_TRUE(places.Take("d"));
}

TEST(UploadPlaces, MayBeOutlived) {
  auto places = std::make_unique<UploadPlaces>(1, 1);
  const Place place = places->Take("a");
  const UploadPlaces::Turn turn = places->Wait("a", [](const Place& /*place*/) {});
  places.reset();
}

}  // namespace
}  // namespace runnel::server
