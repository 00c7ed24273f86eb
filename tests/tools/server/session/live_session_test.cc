// A client's conversation without a socket: order of messages, limits, back-pressure, the end.
#include "tools/server/session/live_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

using nlohmann::json;

// Counts wakes; waits for the next one.
class Bell {
 public:
  void Ring() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++rings_;
    rang_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    rang_.wait(lock, [this] { return rings_ > num_seen_; });
    num_seen_ = rings_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rang_;
  int rings_ = 0;
  int num_seen_ = 0;
};

class LiveSessionTest : public ::testing::Test {
 protected:
  void Open(const Limits& limits = {}) {
    RecognizerOptions options;
    options.max_buffered_s = limits.max_buffered_s;
    recognizer_ = std::make_unique<Recognizer>(testing::Tiny(), options);
    services_.limits = limits;
    services_.recognizer = recognizer_.get();
    services_.metrics = &metrics_;
    services_.file_threads = &file_threads_;
    session_ = std::make_shared<LiveSession>(services_, Client{"id", "account"}, nullptr,
                                             [this] { bell_.Ring(); });
  }

  void Text(const std::string& text) { session_->Receive({true, text}); }
  void Audio(size_t num_samples) { session_->Receive({false, std::string(2 * num_samples, '\1')}); }

  // Everything until the end of the conversation, as a client that reads at once sees it.
  std::vector<json> ToEnd() {
    std::vector<json> messages;
    for (;;) {
      while (auto message = session_->TakeMessage()) {
        messages.push_back(json::parse(message->text));
        session_->OnSent(*message);
      }
      if (session_->closing().has_value()) return messages;
      bell_.Wait();
      session_->Advance();
    }
  }

  // Utterances that a flush has ended.
  int NumFlushed() {
    const std::string series = R"(runnel_utterances_total{end="flush"} )";
    const std::string text = metrics_.Text({});
    return std::stoi(text.substr(text.find(series) + series.size()));
  }

  Metrics metrics_;
  Services services_;
  Bell bell_;
  TaskThreads file_threads_{1, 0, 100};
  std::unique_ptr<Recognizer> recognizer_;
  std::shared_ptr<LiveSession> session_;
};

constexpr char kStart[] = R"({"type":"start","version":1})";
constexpr char kFinish[] = R"({"type":"finish"})";

TEST_F(LiveSessionTest, ReadyFirstFinalLast) {
  Open();
  Text(kStart);
  Audio(32000);
  Text(kFinish);
  const std::vector<json> messages = ToEnd();
  ASSERT_GE(messages.size(), 2U);
  EXPECT_EQ(messages.front()["type"], "ready");
  EXPECT_EQ(messages.back()["type"], "final");
  EXPECT_EQ(session_->closing().value().code, 1000);
}

TEST_F(LiveSessionTest, WhatIsNotTakenIsOneUpdate) {
  Open();
  Text(R"({"type":"start","version":1,"chunk_size":1})");
  Audio(160000);
  Text(kFinish);
  // Nothing is taken until every chunk is decoded.
  while (recognizer_->status().num_streams > 0) session_->Advance();
  const std::vector<json> messages = ToEnd();
  EXPECT_LE(messages.size(), 3U);  // not one per chunk, of which there are hundreds
  EXPECT_EQ(messages.back()["type"], "final");
}

TEST_F(LiveSessionTest, AudioThatHasNoRoomIsHeldAndNotLost) {
  Limits limits;
  limits.max_buffered_s = 1;
  limits.max_speed = 0;
  Open(limits);
  Text(R"({"type":"start","version":1,"chunk_size":4})");
  Audio(160000);
  EXPECT_FALSE(session_->CanReceive());
  Text(kFinish);  // read already: waits behind the audio
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.back()["type"], "final");
  EXPECT_GT(messages.back()["audio_ms"].get<double>(), 9500);
}

// Messages of one letter: 's' starts a stream, a digit is so many seconds of audio in parts of one
// second, 'f' finishes.
class PartsProtocol : public Protocol {
 public:
  explicit PartsProtocol(bool may_be_silent) : may_be_silent_(may_be_silent) {}
  const char* name() const override { return "parts"; }
  bool may_be_silent() const override { return may_be_silent_; }
  std::vector<ClientRequest> Read(const ClientMessage& message) override {
    EXPECT_EQ(num_left_, 0) << "a message before the last one was read to its end";
    const char letter = message.bytes.front();
    if (letter == 'f') return {FinishRequest{}};
    if (letter != 's') {
      num_left_ = letter - '0';
      return ReadMore("");
    }
    StartRequest start;
    start.options.values.stream.sample_rate_hz = 16000;
    start.options.values.stream.chunk_size = 4;
    return {start};
  }
  std::vector<ClientRequest> ReadMore(std::string_view /*rest*/) override {
    std::vector<ClientRequest> requests{AudioRequest{std::vector<float>(16000)}};
    --num_left_;
    if (num_left_ > 0) {
      requests.emplace_back(MoreRequest{});
    } else {
      requests.emplace_back(ImmediateReply{R"({"type":"read"})"});
    }
    return requests;
  }
  std::vector<std::string> OnReady(const SessionInfo&) override { return {}; }
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override {
    if (!update.is_final) return {};
    return {R"({"type":"end","audio_ms":)" + std::to_string(update.audio_ms) + "}"};
  }
  std::vector<std::string> OnError(const ProtocolError& error) override {
    return {ErrorText(error)};
  }
  int num_left() const { return num_left_; }

 private:
  const bool may_be_silent_;
  int num_left_ = 0;
};

TEST_F(LiveSessionTest, AMessageIsReadInPartsAsTheyHaveRoom) {
  Limits limits;
  limits.max_buffered_s = 1;
  limits.max_speed = 0;
  Open(limits);
  const auto protocol = std::make_shared<PartsProtocol>(false);
  session_ = std::make_shared<LiveSession>(services_, Client{"id", "account"}, protocol,
                                           [this] { bell_.Ring(); });
  Text("s");
  Text("9");
  EXPECT_GT(protocol->num_left(), 5) << "the rest waits for room";
  EXPECT_FALSE(session_->CanReceive());
  while (!session_->CanReceive()) {
    bell_.Wait();
    session_->Advance();
  }
  EXPECT_EQ(protocol->num_left(), 0);
  Text("f");
  const std::vector<json> messages = ToEnd();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["type"], "read");
  EXPECT_GT(messages[1]["audio_ms"].get<double>(), 8500);
}

TEST_F(LiveSessionTest, PingsKeepOnlyClientsThatMayBeSilent) {
  Limits limits;
  limits.max_stream_s = 0;
  Open(limits);
  for (const bool may_be_silent : {false, true}) {
    const auto protocol = std::make_shared<PartsProtocol>(may_be_silent);
    LiveSession session(services_, Client{"id", "account"}, protocol, [] {});
    const auto before = session.NextDeadline();
    const auto opened = LiveSession::Clock::now();
    while (LiveSession::Clock::now() <= opened) continue;  // the next tick
    session.OnPing();
    EXPECT_EQ(session.NextDeadline() > before, may_be_silent);
  }
}

// The one file thread is held until Release.
class TaskTest : public LiveSessionTest {
 protected:
  void SetUp() override {
    Open();
    file_threads_.Run([released = released_.get_future().share()] { released.wait(); }, "other");
  }
  void TearDown() override { Release(); }

  void Release() {
    if (!is_released_) released_.set_value();
    is_released_ = true;
  }

  std::promise<void> released_;
  bool is_released_ = false;
};

TEST_F(TaskTest, ReadsALongMessage) {
  Text(kStart);
  Audio(100000);
  EXPECT_FALSE(session_->CanReceive());
  Text(kFinish);  // which the owner was receiving
  session_->Advance();
  EXPECT_EQ(json::parse(session_->TakeMessage()->text)["type"], "ready");
  Release();
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.back()["type"], "final");
  EXPECT_GT(messages.back()["audio_ms"].get<double>(), 6000);
}

TEST_F(TaskTest, ReadsALongFirstMessage) {
  Text(R"({"type":"start","version":1)" + std::string(10000, ' ') + "}");
  EXPECT_FALSE(session_->CanReceive());
  Release();
  while (!session_->CanReceive()) {
    bell_.Wait();
    session_->Advance();
  }
  EXPECT_EQ(json::parse(session_->TakeMessage()->text)["type"], "ready");
}

TEST_F(TaskTest, TellsWhatIsWrongInALongMessage) {
  Text(R"({"type":"start")" + std::string(10000, ' '));
  session_->Advance();
  EXPECT_FALSE(session_->closing().has_value());
  Release();
  EXPECT_EQ(ToEnd().back()["code"], "bad_json");
}

TEST_F(TaskTest, DecodesOpus) {
  Text(R"({"type":"start","version":1,"encoding":"opus","sample_rate":16000})");
  session_->Receive({false, "\x18"});
  EXPECT_FALSE(session_->CanReceive());
  Release();
  Text(kFinish);
  EXPECT_EQ(ToEnd().back()["type"], "final");
}

TEST_F(TaskTest, PreparesHotwords) {
  const json start = {{"type", "start"}, {"version", 1}, {"hotwords", "abad"}};
  Text(start.dump());
  EXPECT_FALSE(session_->CanReceive());
  EXPECT_EQ(recognizer_->status().num_streams, 0);
  Audio(16000);
  Text(kFinish);
  Release();
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.front()["type"], "ready");
  EXPECT_EQ(messages.back()["type"], "final");
}

TEST_F(TaskTest, TheClientMayGoMeanwhile) {
  Text(kStart);
  Audio(100000);
  session_->Disconnect();
  Release();
  file_threads_.Stop();
  EXPECT_EQ(recognizer_->status().num_streams, 0);
}

// A task may begin before the session ends, and end after it.
TEST_F(LiveSessionTest, TheClientMayGoWhileHotwordsArePrepared) {
  Open();
  const json start = {{"type", "start"}, {"version", 1}, {"hotwords", "abad"}};
  for (int round = 0; round < 500; ++round) {
    session_ = std::make_shared<LiveSession>(services_, Client{"id", std::string(100, 'a')},
                                             nullptr, [] {});
    Text(start.dump());
    if (round % 2 == 0) std::this_thread::yield();
    session_.reset();
  }
  file_threads_.Stop();
  EXPECT_EQ(recognizer_->status().num_streams, 0);
}

TEST_F(TaskTest, ALongMessageWithoutAudioIsNoProgress) {
  Text(kStart);
  const auto before = session_->last_progress();
  Text(R"({"type":"ping","id":")" + std::string(5000, 'x') + R"("})");
  EXPECT_FALSE(session_->awaits_client());
  Release();
  while (!session_->CanReceive()) {
    bell_.Wait();
    session_->Advance();
  }
  EXPECT_TRUE(session_->awaits_client());
  EXPECT_EQ(session_->last_progress(), before);
  Audio(100);
  EXPECT_GT(session_->last_progress(), before);
}

TEST_F(TaskTest, AServerThatShutsDownTellsTheClientAfterIt) {
  Audio(100000);
  session_->Drain();
  EXPECT_FALSE(session_->closing().has_value());
  Release();
  ToEnd();
  EXPECT_TRUE(session_->closing().has_value());
}

// A message of 200 s.
TEST_F(LiveSessionTest, PaceHoldsWithinAMessage) {
  Limits limits;
  limits.max_speed = 0.001;
  InputBudget budget(1 << 20);
  services_.input_budget = &budget;
  Open(limits);
  Text(R"({"type":"start","version":1,"encoding":"mulaw","sample_rate":1000,"chunk_size":4})");
  session_->Receive({false, std::string(200000, '\x7F')});
  const auto is_paused = [this] {
    return metrics_.Text({}).find(R"(runnel_pauses_total{reason="speed"} 1)") != std::string::npos;
  };
  while (!is_paused()) {
    bell_.Wait();
    session_->Advance();
  }
  EXPECT_FALSE(session_->CanReceive());
  EXPECT_GT(session_->NextDeadline(), LiveSession::Clock::now());
  EXPECT_GT(budget.num_bytes(), 100000U);
  session_->Disconnect();
  EXPECT_EQ(budget.num_bytes(), 0U);
}

// A stream whose last result a task writes, which waits until Release.
class LongResultTest : public LiveSessionTest {
 protected:
  virtual std::string LastMessage() const { return kFinish; }

  void SetUp() override {
    Limits limits;
    limits.max_speed = 0;
    limits.max_buffered_s = 200;
    limits.max_nbest = 100;
    limits.max_send_queue_kb = 1 << 20;
    Open(limits);
    file_threads_.Run([released = released_.get_future().share()] { released.wait(); }, "account");
    Text(R"({"type":"start","version":1,"search":"beam","beam_size":32,"nbest":32})");
    for (int i = 0; i < 6; ++i) {
      std::string noise(64000, '\0');
      for (char& byte : noise) byte = static_cast<char>(random_());
      session_->Receive({false, noise});
    }
    Text(LastMessage());
    while (session_->CanReceive()) {  // until the task has the update
      session_->Advance();
      while (session_->TakeMessage().has_value()) {
      }
    }
  }
  void TearDown() override { Release(); }

  void Release() {
    if (!is_released_) released_.set_value();
    is_released_ = true;
  }

  std::mt19937 random_{20261121};
  std::promise<void> released_;
  bool is_released_ = false;
};

TEST_F(LongResultTest, NothingComesBetweenItAndTheEnd) {
  EXPECT_FALSE(session_->TakeMessage().has_value());
  EXPECT_EQ(session_->NextDeadline(), LiveSession::Clock::time_point::max());
  Text("no message at all");
  session_->Drain();
  session_->Fail(ErrorCode::kMessageTooLarge, "too large");
  session_->Advance();
  EXPECT_FALSE(session_->closing().has_value());
  Release();
  const std::vector<json> messages = ToEnd();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages.back()["type"], "final");
  size_t num_tokens = 0;
  for (const json& result : messages.back()["nbest"]) num_tokens += result["tokens"].size();
  EXPECT_GE(num_tokens, 2000U);
  EXPECT_EQ(session_->closing().value().code, 1000);
}

TEST_F(LongResultTest, TheClientMayGoMeanwhile) {
  session_->Disconnect();
  Release();
  file_threads_.Stop();
  EXPECT_FALSE(session_->TakeMessage().has_value());
}

// The same for the utterances of a flush, after which the stream goes on.
class LongUtteranceTest : public LongResultTest {
 protected:
  std::string LastMessage() const override { return R"({"type":"flush"})"; }
};

TEST_F(LongUtteranceTest, WhatComesMeanwhileIsHandledAfterIt) {
  EXPECT_FALSE(session_->TakeMessage().has_value());
  Text(R"({"type":"ping","id":1})");  // of which the first bytes had been read already
  Audio(100);
  Text(kFinish);
  session_->Advance();
  EXPECT_FALSE(session_->closing().has_value());
  Release();
  const std::vector<json> messages = ToEnd();
  ASSERT_GE(messages.size(), 3U);
  EXPECT_EQ(messages[0]["type"], "utterance");
  EXPECT_EQ(messages[0]["end"], "flush");
  EXPECT_EQ(messages.back()["type"], "final");
  EXPECT_EQ(messages.back()["index"], 1);
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(),
                          [](const json& message) { return message["type"] == "pong"; }),
            1);
  EXPECT_EQ(session_->closing().value().code, 1000);
}

TEST_F(LongUtteranceTest, AnErrorComesAfterIt) {
  session_->Fail(ErrorCode::kMessageTooLarge, "too large");
  Text(kFinish);
  session_->Drain();
  Release();
  const std::vector<json> messages = ToEnd();
  ASSERT_GE(messages.size(), 2U);
  EXPECT_EQ(messages[0]["type"], "utterance");
  EXPECT_EQ(messages.back()["code"], "message_too_large");
  EXPECT_EQ(session_->closing().value().code, 1009);
}

TEST_F(LongUtteranceTest, TheClientMayGoMeanwhile) {
  session_->Disconnect();
  Release();
  file_threads_.Stop();
  EXPECT_FALSE(session_->TakeMessage().has_value());
  EXPECT_EQ(recognizer_->status().num_streams, 0);
}

TEST_F(LiveSessionTest, UtterancesAreThoseOfAStream) {
  Limits limits;
  limits.max_speed = 0;
  Open(limits);
  Text(R"({"type":"start","version":1,"encoding":"float32","chunk_size":4,"search":"beam",)"
       R"("nbest":2,"endpointing":{"max_utterance_s":1}})");
  const std::vector<float> samples = testing::NoiseOfChangingLevel(100000, 5);
  const std::string bytes(reinterpret_cast<const char*>(samples.data()),
                          samples.size() * sizeof(float));
  session_->Receive({false, bytes});
  Text(kFinish);
  std::vector<json> messages = ToEnd();

  StreamOptions options;
  options.chunk_size = 4;
  options.search.method = SearchMethod::kPrefixBeam;
  options.nbest = 2;
  options.endpoints.enabled = true;
  options.endpoints.rules[2].min_utterance_s = 1;
  Stream stream(testing::Tiny(), options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  const std::vector<Utterance> utterances = stream.TakeUtterances();
  ASSERT_GT(utterances.size(), 3U);
  size_t num_found = 0;
  for (const json& message : messages) {
    if (!message.contains("index")) continue;
    ASSERT_LT(num_found, utterances.size());
    const Utterance& utterance = utterances[num_found];
    EXPECT_EQ(message["index"].get<size_t>(), num_found++);
    EXPECT_EQ(message["start_ms"], utterance.start_ms);
    EXPECT_EQ(message["end_ms"], utterance.end_ms);
    EXPECT_EQ(message["audio_ms"], utterance.searched_ms);
    EXPECT_EQ(message["text"], ValidText(utterance.nbest[0].text));
    ASSERT_EQ(message["nbest"].size(), utterance.nbest.size());
    for (size_t i = 0; i < utterance.nbest.size(); ++i) {
      EXPECT_EQ(message["nbest"][i]["text"], ValidText(utterance.nbest[i].text));
      EXPECT_EQ(message["nbest"][i]["tokens"].size(), utterance.nbest[i].tokens.size());
    }
  }
  EXPECT_EQ(num_found, utterances.size());
}

TEST_F(LiveSessionTest, UtterancesThatAreNotReadPauseTheClient) {
  Limits limits;
  limits.max_send_queue_kb = 4;
  limits.max_speed = 0;
  Open(limits);
  Text(R"({"type":"start","version":1,"chunk_size":1})");
  int num_flushes = 0;
  while (session_->CanReceive()) {  // which takes no message
    Audio(1600);
    Text(R"({"type":"flush"})");
    ++num_flushes;
    while (NumFlushed() < num_flushes) std::this_thread::yield();
    session_->Advance();
    ASSERT_LT(num_flushes, 1000);
  }
  EXPECT_NE(metrics_.Text({}).find(R"(runnel_pauses_total{reason="send_queue"} 1)"),
            std::string::npos);
  Text(kFinish);
  const std::vector<json> messages = ToEnd();
  std::vector<int> indices;
  for (const json& message : messages) {
    if (message.contains("index")) indices.push_back(message["index"]);
  }
  ASSERT_EQ(indices.size(), static_cast<size_t>(num_flushes) + 1);
  for (size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], static_cast<int>(i));
}

// Each costs a chunk.
TEST_F(LiveSessionTest, AFloodOfFlushesIsPaused) {
  Limits limits;
  limits.max_buffered_s = 4;
  limits.max_speed = 0.001;
  Open(limits);
  Text(R"({"type":"start","version":1,"chunk_size":16})");
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(session_->CanReceive()) << i;
    Text(R"({"type":"flush"})");
  }
  EXPECT_FALSE(session_->CanReceive());
}

TEST_F(LiveSessionTest, AWholeUtteranceHasNoFlush) {
  Limits limits;
  limits.max_chunk_size = -1;
  Open(limits);
  Text(R"({"type":"start","version":1,"chunk_size":-1,"endpointing":true})");
  Audio(16000);
  Text(R"({"type":"flush"})");
  EXPECT_EQ(ToEnd().back()["code"], "bad_option");
}

TEST_F(LiveSessionTest, AudioIsBoundedAtAnySpeed) {
  Limits limits;
  limits.max_audio_s = 2;
  limits.max_speed = 0;
  Open(limits);
  Text(kStart);
  Audio(32000);
  EXPECT_FALSE(session_->closing().has_value());
  Audio(1);
  EXPECT_EQ(ToEnd().back()["code"], "audio_limit");
  EXPECT_EQ(session_->closing().value().code, 1008);
}

TEST_F(LiveSessionTest, FasterThanAllowedIsPaused) {
  Limits limits;
  limits.max_buffered_s = 4;
  limits.max_speed = 0.001;
  Open(limits);
  Text(kStart);
  Audio(16000);
  EXPECT_TRUE(session_->CanReceive());
  Audio(64000);
  EXPECT_FALSE(session_->CanReceive());
  EXPECT_GT(session_->NextDeadline(), LiveSession::Clock::now());
}

TEST_F(LiveSessionTest, ErrorsEndTheConversation) {
  Open();
  Text(kStart);
  Text(kStart);
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.back()["code"], "unsupported_order");
  EXPECT_EQ(session_->closing().value().code, 1008);
  Text(kFinish);  // too late, and no harm
  EXPECT_FALSE(session_->TakeMessage().has_value());
  EXPECT_EQ(recognizer_->status().num_streams, 0);
}

TEST_F(LiveSessionTest, UnknownFirstMessage) {
  Open();
  Text("hello");
  EXPECT_EQ(ToEnd().back()["code"], "bad_json");
}

TEST_F(LiveSessionTest, DisconnectEndsTheStream) {
  Open();
  Text(kStart);
  Audio(16000);
  session_->Disconnect();
  EXPECT_EQ(recognizer_->status().num_streams, 0);
  EXPECT_FALSE(session_->CanReceive());
  session_->Advance();
}

TEST_F(LiveSessionTest, DrainTellsTheClient) {
  Open();
  Text(kStart);
  session_->Drain();
  EXPECT_EQ(ToEnd().back()["code"], "draining");
  EXPECT_EQ(session_->closing().value().code, 1013);
}

TEST_F(LiveSessionTest, ResumeWithoutAStore) {
  Open();
  Text(R"({"type":"resume","version":1,"token":"00000000000000000000000000000000"})");
  EXPECT_EQ(ToEnd().back()["code"], "snapshot_unknown");
}

}  // namespace
}  // namespace runnel::server
