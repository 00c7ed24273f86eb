// Slots for connections, streams and uploads: given, refused, released.
#include "tools/server/resources/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace runnel::server {
namespace {

Limits SmallLimits() {
  Limits limits;
  limits.max_streams = 3;
  limits.max_streams_per_address = 2;
  limits.max_connections = 2;
  limits.max_uploads = 1;
  return limits;
}

TEST(Admission, ReleasesSlots) {
  Admission admission(SmallLimits());
  Refusal refusal = Refusal::kNone;
  for (int round = 0; round < 3; ++round) {
    Ticket first = admission.AdmitStream("a", &refusal);
    Ticket second = admission.AdmitStream("a", &refusal);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(admission.AdmitStream("a", &refusal));
    EXPECT_EQ(refusal, Refusal::kAddress);
    Ticket third = admission.AdmitStream("b", &refusal);
    ASSERT_TRUE(third);
    EXPECT_EQ(refusal, Refusal::kNone);
    EXPECT_TRUE(admission.is_full());
    EXPECT_FALSE(admission.AdmitStream("c", &refusal));
    EXPECT_EQ(refusal, Refusal::kStreams);
    EXPECT_EQ(admission.num_streams(), 3);
  }
  EXPECT_EQ(admission.num_streams(), 0);
}

TEST(Admission, UploadsAreStreamsToo) {
  Admission admission(SmallLimits());
  Refusal refusal = Refusal::kNone;
  const Ticket upload = admission.AdmitUpload("a", &refusal);
  EXPECT_EQ(admission.num_streams(), 1);
  EXPECT_FALSE(admission.AdmitUpload("b", &refusal));
  EXPECT_EQ(refusal, Refusal::kUploads);
  EXPECT_TRUE(admission.AdmitStream("a", &refusal));
}

TEST(Admission, DrainingRefusesStreamsOnly) {
  Admission admission(SmallLimits());
  Refusal refusal = Refusal::kNone;
  const Ticket before = admission.AdmitStream("a", &refusal);
  admission.Drain();
  EXPECT_TRUE(admission.is_draining());
  EXPECT_FALSE(admission.AdmitStream("b", &refusal));
  EXPECT_EQ(refusal, Refusal::kDraining);
  EXPECT_FALSE(admission.AdmitUpload("b", &refusal));
  EXPECT_TRUE(admission.AdmitConnection("a", &refusal));
  EXPECT_EQ(refusal, Refusal::kNone);
  EXPECT_EQ(admission.num_streams(), 1);
}

// Takes slots until there are none; returns how many were within the limit.
template <typename Admit>
int NumWithin(const Admit& admit, Refusal expected, std::vector<Ticket>* tickets) {
  int num_within = 0;
  Refusal refusal = Refusal::kNone;
  while (Ticket ticket = admit(&refusal)) {
    tickets->push_back(ticket);
    if (refusal == Refusal::kNone) ++num_within;
    if (tickets->size() > 1000U) break;
  }
  EXPECT_EQ(refusal, expected);
  return num_within;
}

TEST(Admission, ConnectionsAboveTheLimitAreToldUntilThereAreTooMany) {
  Admission admission(SmallLimits());
  std::vector<Ticket> tickets;
  int num_peers = 0;
  const auto admit = [&](Refusal* refusal) {
    return admission.AdmitConnection(std::to_string(num_peers++), refusal);
  };
  EXPECT_EQ(NumWithin(admit, Refusal::kConnections, &tickets), 2);
  EXPECT_GT(tickets.size(), 2U);
  EXPECT_LT(tickets.size(), 1000U);
  EXPECT_TRUE(admission.is_full());
  tickets.resize(2);
  EXPECT_FALSE(admission.is_full());
  tickets.clear();
  EXPECT_EQ(admission.num_connections(), 0);
}

TEST(Admission, NoPeerTakesAllSlotsAboveTheLimit) {
  Admission admission(SmallLimits());
  for (int round = 0; round < 2; ++round) {
    std::vector<Ticket> of_a;
    std::vector<Ticket> of_b;
    const auto admit_a = [&](Refusal* refusal) { return admission.AdmitConnection("a", refusal); };
    const auto admit_b = [&](Refusal* refusal) { return admission.AdmitConnection("b", refusal); };
    EXPECT_EQ(NumWithin(admit_a, Refusal::kConnections, &of_a), 2);
    EXPECT_EQ(NumWithin(admit_b, Refusal::kConnections, &of_b), 0);
    EXPECT_EQ(of_a.size(), 2U + of_b.size());
    EXPECT_GT(of_b.size(), 0U);
  }
  EXPECT_EQ(admission.num_connections(), 0);
}

TEST(Admission, ConnectionsOfAnAddress) {
  Limits limits = SmallLimits();
  limits.max_connections_per_address = 3;
  Admission admission(limits);
  for (int round = 0; round < 2; ++round) {
    std::vector<Ticket> of_a;
    std::vector<Ticket> of_b;
    const auto admit_a = [&](Refusal* refusal) { return admission.AdmitAddress("a", refusal); };
    const auto admit_b = [&](Refusal* refusal) { return admission.AdmitAddress("b", refusal); };
    EXPECT_EQ(NumWithin(admit_a, Refusal::kAddressConnections, &of_a), 3);
    EXPECT_GT(of_a.size(), 3U);
    EXPECT_LT(of_a.size(), 100U);
    EXPECT_EQ(NumWithin(admit_b, Refusal::kAddressConnections, &of_b), 3);
  }
  EXPECT_EQ(admission.num_connections(), 0);
  limits.max_connections_per_address = 0;
  Admission unlimited(limits);
  std::vector<Ticket> tickets;
  const auto admit = [&](Refusal* refusal) { return unlimited.AdmitAddress("a", refusal); };
  EXPECT_EQ(NumWithin(admit, Refusal::kNone, &tickets), 1001);
}

TEST(Admission, AnAccountHasHalfOfTheMediaStreams) {
  Limits limits = SmallLimits();
  limits.max_media_streams = 5;
  Admission admission(limits);
  std::vector<Ticket> of_a;
  std::vector<Ticket> of_b;
  const auto admit_a = [&](Refusal* refusal) { return admission.AdmitMediaStream("a", refusal); };
  const auto admit_b = [&](Refusal* refusal) { return admission.AdmitMediaStream("b", refusal); };
  EXPECT_EQ(NumWithin(admit_a, Refusal::kAddressMedia, &of_a), 3);
  EXPECT_EQ(NumWithin(admit_b, Refusal::kMediaStreams, &of_b), 2);
  of_a.pop_back();
  EXPECT_EQ(NumWithin(admit_b, Refusal::kAddressMedia, &of_b), 1);
  limits.max_media_streams = 1;
  Refusal refusal = Refusal::kNone;
  EXPECT_TRUE(Admission(limits).AdmitMediaStream("a", &refusal));
  limits.max_media_streams = 0;
  EXPECT_FALSE(Admission(limits).AdmitMediaStream("a", &refusal));
  EXPECT_EQ(refusal, Refusal::kMediaStreams);
}

TEST(Admission, AllMediaStreamsAreForOneAddressWithoutLimitsPerAddress) {
  Limits limits = SmallLimits();
  limits.max_media_streams = 5;
  limits.max_streams_per_address = 0;
  Admission admission(limits);
  std::vector<Ticket> tickets;
  const auto admit = [&](Refusal* refusal) { return admission.AdmitMediaStream("a", refusal); };
  EXPECT_EQ(NumWithin(admit, Refusal::kMediaStreams, &tickets), 5);
}

// The account that has most gives up what it has not used.
TEST(Admission, AMediaStreamThatWasOfferedGivesWay) {
  Limits limits = SmallLimits();
  limits.max_media_streams = 4;
  Admission admission(limits);
  Refusal refusal = Refusal::kNone;
  std::vector<Ticket> tickets;
  int num_given_up = 0;
  for (const char* account : {"a", "a", "b", "b"}) {
    tickets.push_back(admission.AdmitMediaStream(account, &refusal));
    tickets.back()->Offer(kIdlePatience, [&] { ++num_given_up; });
  }
  tickets.push_back(admission.AdmitMediaStream("c", &refusal));
  EXPECT_TRUE(tickets.back());
  EXPECT_EQ(num_given_up, 1);
}

TEST(Admission, TicketsMayOutliveIt) {
  auto admission = std::make_unique<Admission>(SmallLimits());
  Refusal refusal = Refusal::kNone;
  Ticket ticket = admission->AdmitStream("a", &refusal);
  admission.reset();
  ticket.reset();
}

TEST(Admission, ManyThreads) {
  Limits limits = SmallLimits();
  limits.max_streams_per_address = 0;
  Admission admission(limits);
  std::atomic<int64_t> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, address = std::to_string(i)] {
      for (int round = 0; round < 2000; ++round) {
        Refusal refusal = Refusal::kNone;
        const Ticket ticket = admission.AdmitStream(address, &refusal);
        const int64_t now = admission.num_streams();
        if (now > most) most = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(admission.num_streams(), 0);
}

// All clients may have one address then.
TEST(Admission, WithoutALimitOfAnAddressItsConnectionsHaveNoRate) {
  Limits limits = SmallLimits();
  limits.max_connection_rate = 1;
  const ConnectionRate::Time now{};
  for (const int64_t most : {int64_t{0}, int64_t{2}}) {
    limits.max_connections_per_address = most;
    Admission admission(limits);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(admission.connection_rate().Next("a", now), now);
    EXPECT_EQ(admission.connection_rate().Next("a", now) == now, most == 0);
  }
}

}  // namespace
}  // namespace runnel::server
