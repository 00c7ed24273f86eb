// The utterances that are stored beside a stream: what comes back, and how many are kept.
#include "tools/server/store/utterance_history.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "runtime/snapshot_error.h"
#include "tests/support/tiny_streams.h"
#include "tools/server/store/stored_session.h"

namespace runnel::server {
namespace {

const TokenTable& Tokens() { return runnel::testing::Tiny()->tokens(); }

Utterance RandomUtterance(int64_t index, size_t num_tokens, std::mt19937* random) {
  Utterance utterance;
  utterance.index = index;
  utterance.start_ms = static_cast<double>((*random)() % 1000);
  utterance.end_ms = utterance.start_ms + 0.1;
  utterance.searched_ms = utterance.end_ms + 1200;
  utterance.end = static_cast<UtteranceEnd>((*random)() % 4);
  utterance.latency_ms = 3.25;
  utterance.nbest.resize(1 + (*random)() % 3);
  for (Hypothesis& hypothesis : utterance.nbest) {
    for (size_t i = 0; i < num_tokens; ++i) {
      const auto id = static_cast<int32_t>((*random)() % static_cast<unsigned>(Tokens().size()));
      const auto frame = static_cast<int64_t>(i);
      hypothesis.tokens.push_back({id, 40.0 * static_cast<double>(i), 0.5, 0.25F, frame});
    }
    hypothesis.score = -1.5;
    hypothesis.confidence = 0.5F;
    Tokens().Complete(&hypothesis);
    for (size_t n = (*random)() % 3; n > 0; --n) {
      hypothesis.hotwords.push_back({"phrase " + std::to_string(n), 80.0, 120.5});
    }
  }
  return utterance;
}

void ExpectSame(const Utterance& actual, const Utterance& expected) {
  EXPECT_EQ(actual.index, expected.index);
  EXPECT_EQ(actual.start_ms, expected.start_ms);
  EXPECT_EQ(actual.end_ms, expected.end_ms);
  EXPECT_EQ(actual.searched_ms, expected.searched_ms);
  EXPECT_EQ(actual.end, expected.end);
  EXPECT_EQ(actual.latency_ms, expected.latency_ms);
  runnel::testing::ExpectSame(actual.nbest, expected.nbest);
  ASSERT_EQ(actual.nbest.size(), expected.nbest.size());
  for (size_t i = 0; i < actual.nbest.size(); ++i) {
    const std::vector<HotwordMatch>& expected_hotwords = expected.nbest[i].hotwords;
    ASSERT_EQ(actual.nbest[i].hotwords.size(), expected_hotwords.size());
    for (size_t k = 0; k < expected_hotwords.size(); ++k) {
      EXPECT_EQ(actual.nbest[i].hotwords[k].phrase, expected_hotwords[k].phrase);
      EXPECT_EQ(actual.nbest[i].hotwords[k].start_ms, expected_hotwords[k].start_ms);
      EXPECT_EQ(actual.nbest[i].hotwords[k].end_ms, expected_hotwords[k].end_ms);
    }
  }
}

TEST(UtteranceHistory, UtterancesComeBackAsTheyWere) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  UtteranceHistory history(5);
  EXPECT_EQ(history.next_index(), 5);
  EXPECT_EQ(history.Pack(100), "");
  std::vector<Utterance> utterances;
  for (int64_t index = 5; index < 20; ++index) {
    utterances.push_back(RandomUtterance(index, random() % 9, &random));
    history.Add(utterances.back());
  }
  EXPECT_EQ(history.next_index(), 20);
  history.ForgetBefore(8);
  const std::vector<Utterance> unpacked = UtteranceHistory::Unpack(history.Pack(18), Tokens());
  ASSERT_EQ(unpacked.size(), 10U);
  for (size_t i = 0; i < unpacked.size(); ++i) ExpectSame(unpacked[i], utterances[3 + i]);
  history.ForgetBefore(100);
  EXPECT_EQ(history.num_bytes(), 0U);
  EXPECT_EQ(history.next_index(), 20);
}

TEST(UtteranceHistory, IsBoundedByNumberAndBytes) {
  std::mt19937 random(20261122);
  UtteranceHistory many;
  UtteranceHistory large;
  for (int64_t index = 0; index < 300; ++index) {
    many.Add(RandomUtterance(index, 1, &random));
    large.Add(RandomUtterance(index, 1000, &random));
    EXPECT_LE(large.num_bytes(), UtteranceHistory::kMostBytes);
  }
  const auto kept = UtteranceHistory::Unpack(many.Pack(1000), Tokens());
  ASSERT_EQ(kept.size(), UtteranceHistory::kMostUtterances);
  EXPECT_EQ(kept.back().index, 299);
  large.Add(RandomUtterance(300, 20000, &random));  // more than the bound by itself
  const auto last = UtteranceHistory::Unpack(large.Pack(1000), Tokens());
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].index, 300);
}

TEST(UtteranceHistory, OneUtteranceIsBoundedByItsHypotheses) {
  std::mt19937 random(20261123);
  Utterance utterance = RandomUtterance(0, 4000, &random);  // 128 kB per hypothesis
  utterance.nbest.resize(1);
  utterance.nbest.resize(10, utterance.nbest.front());
  for (size_t i = 0; i < utterance.nbest.size(); ++i) {
    utterance.nbest[i].score = -static_cast<double>(i);
  }
  UtteranceHistory history;
  history.Add(utterance);
  EXPECT_LE(history.num_bytes(), UtteranceHistory::kMostBytes);
  const auto kept = UtteranceHistory::Unpack(history.Pack(1), Tokens());
  ASSERT_EQ(kept.size(), 1U);
  utterance.nbest.resize(2);
  ExpectSame(kept[0], utterance);
}

TEST(UtteranceHistory, AnyBytesAreSafe) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  UtteranceHistory history;
  for (int64_t index = 0; index < 4; ++index) history.Add(RandomUtterance(index, 5, &random));
  const std::string packed = history.Pack(4);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = packed;
    for (size_t n = random() % 4; n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(bytes.size() - (random() % 4 == 0 ? random() % bytes.size() : 0));
    try {
      UtteranceHistory::Unpack(bytes, Tokens());
    } catch (const SnapshotError&) {
    }
  }
}

TEST(StoredSession, ComesBackAsItWas) {
  const std::string utterances("some\nutterances\0", 16);
  const std::string stream("snapshot\n\0 of a stream\n", 23);
  const std::string bytes = Pack({7, utterances, stream});
  const StoredSession session = UnpackSession(bytes);
  EXPECT_EQ(session.first_utterance, 7);
  EXPECT_EQ(session.utterances, utterances);
  EXPECT_EQ(session.stream, stream);
  EXPECT_EQ(UnpackSession(Pack({})).stream, "");
}

TEST(StoredSession, OtherBytesAreNoSession) {
  const std::string bytes = Pack({7, "utterances", ""});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(UnpackSession(bytes.substr(0, size)), SnapshotError) << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_THROW(UnpackSession(damaged), SnapshotError) << at;
  }
}

}  // namespace
}  // namespace runnel::server
