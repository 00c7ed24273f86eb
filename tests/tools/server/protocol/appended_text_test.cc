#include "tools/server/protocol/appended_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using testing::EndedTwo;
using testing::RunningZe;
using testing::TwoZero;

Utterance Ended(const std::string& text) {
  Utterance utterance = EndedTwo(0);
  utterance.nbest[0].text = text;
  return utterance;
}

TEST(AppendedText, PiecesJoinedAreTheText) {
  AppendedText text;
  EXPECT_EQ(text.Add(TwoZero()), "two");
  LiveUpdate next = TwoZero();
  next.stable_size_before = 3;
  next.stable_text = " ze";
  EXPECT_EQ(text.Add(next), " ze");
  EXPECT_EQ(text.End(Ended("two zero")), "ro");
  EXPECT_EQ(text.Add(RunningZe(1)), "ze") << "the next utterance begins at its start";
  EXPECT_EQ(text.End(Ended("ze")), "");
  EXPECT_EQ(text.End(Ended("two")), "two") << "an utterance without a piece";
}

TEST(AppendedText, TakesNothingBack) {
  AppendedText text;
  text.Add(TwoZero());
  EXPECT_EQ(text.End(Ended("to zero")), "") << "rescoring has changed stable text";
  EXPECT_EQ(text.End(Ended("two")), "two");
}

TEST(AppendedText, UtterancesThatBeginAnew) {
  AppendedText text;
  LiveUpdate empty;
  EXPECT_EQ(text.Add(empty), "");
  EXPECT_EQ(text.Add(TwoZero()), "two");
  EXPECT_EQ(text.End(Ended("two")), "");
}

}  // namespace
}  // namespace runnel::server
