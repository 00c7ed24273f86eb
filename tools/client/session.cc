#include "tools/client/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "tools/cli/decimal.h"

namespace runnel::client {
namespace {

constexpr double kFirstWaitS = 0.1;  // before the first retry; doubled each time
constexpr double kLongestWaitS = 3;
constexpr char kStreamFailed[] = "stream_failed";

double MillisecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// Puts `added`, a path with or without a query, behind the path of the target.
std::string JoinTargets(const std::string& target, const std::string& added) {
  if (added.empty()) return target;
  const size_t path_end = std::min(target.find('?'), target.size());
  std::string joined = target.substr(0, path_end);
  if (joined.back() != '/') joined += '/';
  joined += added;
  if (path_end == target.size()) return joined;
  joined += added.find('?') == std::string::npos ? '?' : '&';
  return joined + target.substr(path_end + 1);
}

// Errors of the server that may not occur again at a retry.
bool MayBeRetried(const std::string& code) {
  return code == "full" || code == "address_full" || code == "draining" || code == "internal" ||
         code == "snapshot_unknown" || code == "snapshot_invalid" || code == "store_unavailable" ||
         code == kStreamFailed;
}

}  // namespace

Session::Session(EventLoop* loop, Connector* connector, const SessionOptions& options,
                 std::shared_ptr<const AudioTrack> track, SessionListener* listener)
    : connector_(connector),
      options_(options),
      track_(std::move(track)),
      listener_(listener),
      protocol_(MakeClientProtocol(options.protocol)),
      server_(options.first_server % options.servers.size()),
      look_ahead_ms_(options.look_ahead_ms),
      wait_s_(kFirstWaitS),
      random_(options.seed),
      pace_timer_(loop, [this] { SendDue(); }),
      retry_timer_(loop, [this] { Connect(); }),
      silence_timer_(loop, [this] { OnTimeout(); }) {
  Connect();
}

Session::~Session() { Vanish(); }

void Session::Vanish() {
  listener_ = nullptr;
  pace_timer_.Cancel();
  retry_timer_.Cancel();
  silence_timer_.Cancel();
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->Abort();
}

void Session::OnMoreAudio() {
  if (is_sending_audio_) SendDue();
}

void Session::Connect() {
  protocol_->OnConnect();
  is_sending_audio_ = is_packet_under_way_ = is_finished_ = false;
  sent_.clear();
  turn_ends_.clear();
  ServerUrl url = options_.servers[server_];
  url.target = JoinTargets(url.target, protocol_->Target(StartOptionsOfTrack()));
  connection_ = connector_->Connect(url, this);
}

StartOptions Session::StartOptionsOfTrack() const {
  StartOptions start = options_.start;
  start.sample_rate_hz = track_->sample_rate_hz();
  start.wants_snapshots = options_.resumes;
  return start;
}

void Session::OnOpen() {
  if (!token_.empty()) {
    connection_->SendText(
        ResumeMessage(token_, options_.start.encoding, protocol_->num_utterances()));
  } else {
    const std::string message = protocol_->StartMessage(StartOptionsOfTrack());
    if (!message.empty()) connection_->SendText(message);
  }
  if (!protocol_->AnswersStart()) return BeginAudio(0);
  silence_timer_.SetAfter(options_.timeout_s);
}

void Session::BeginAudio(int64_t first_sample) {
  silence_timer_.Cancel();
  first_sample_ = next_sample_ = first_sample;
  encoder_ = MakePacketEncoder(options_.start.encoding, track_.get(), options_.packet_ms);
  is_sending_audio_ = true;
  if (!has_begun_) {
    has_begun_ = true;
    begin_time_ = Clock::now();
  }
  BeginTurn();
  SendDue();
}

void Session::BeginTurn() {
  if (options_.turn_s == 0) return;
  const double turn_s = options_.turn_s * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  turn_end_ = next_sample_ + std::llround(turn_s * track_->sample_rate_hz());
}

// After a whole message, because an Opus packet cannot be cut.
void Session::EndTurn(Clock::time_point now) {
  turn_ends_.push_back(now);
  connection_->SendText(protocol_->EndOfSpeechMessage());
  BeginTurn();
}

// A packet is due when its last sample has been spoken, as with a microphone.
Clock::time_point Session::TimeOf(int64_t sample) const {
  const std::chrono::duration<double> spoken(static_cast<double>(sample) /
                                             track_->sample_rate_hz() / options_.speed);
  return begin_time_ + std::chrono::duration_cast<Clock::duration>(spoken);
}

int64_t Session::SamplesSpoken(Clock::time_point now) const {
  const int64_t available = encoder_->num_samples();
  if (options_.speed == 0) return available;
  const double spoken_s = std::chrono::duration<double>(now - begin_time_).count() * options_.speed;
  return std::min<int64_t>(available, std::llround(spoken_s * track_->sample_rate_hz()));
}

// Only one packet is under way at a time, so audio that the server does not accept waits here.
void Session::SendDue() {
  if (is_packet_under_way_ || is_finished_ || connection_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  const int64_t available = encoder_->num_samples();
  const int64_t spoken = SamplesSpoken(now);
  const int64_t packet_end = next_sample_ + encoder_->packet_samples();
  if (packet_end <= spoken || spoken == available) {
    AudioPacket packet = encoder_->Next(next_sample_, spoken);
    if (packet.num_samples > 0) return SendPacket(std::move(packet), now);
    if (!track_->is_complete()) return;  // until OnMoreAudio
    is_finished_ = true;
    finish_time_ = now;
    connection_->SendText(protocol_->FinishMessage());
    silence_timer_.SetAfter(options_.timeout_s);
  } else {
    pace_timer_.Set(TimeOf(std::min(packet_end, available)));
  }
}

void Session::SendPacket(AudioPacket packet, Clock::time_point now) {
  if (first_sent_time_ == Clock::time_point()) first_sent_time_ = now;
  next_sample_ += packet.num_samples;
  if (options_.speed != 0) {
    send_lag_ms_ = std::max(send_lag_ms_, MillisecondsBetween(TimeOf(next_sample_), now));
  }
  sent_.push_back({next_sample_, now});
  is_packet_under_way_ = true;
  MessageToSend message = protocol_->AudioMessage(std::move(packet.bytes));
  if (message.is_text) {
    connection_->SendText(std::move(message.bytes));
  } else {
    connection_->SendBinary(std::move(message.bytes));
  }
  const bool has_ended = track_->is_complete() && next_sample_ >= encoder_->num_samples();
  if (options_.turn_s > 0 && next_sample_ >= turn_end_ && !has_ended) EndTurn(now);
}

void Session::OnSent() {
  if (!is_sending_audio_) return;
  is_packet_under_way_ = false;
  SendDue();
}

void Session::OnMessage(std::string_view bytes) {
  last_word_time_ = Clock::now();
  if (is_finished_) silence_timer_.SetAfter(options_.timeout_s);
  ServerMessage message;
  try {
    message = protocol_->Read(bytes);
  } catch (const std::exception& error) {
    SessionResult result;
    result.code = "bad_reply";
    result.message = options_.servers[server_].Text() + ": " + error.what();
    return End(std::move(result));
  }
  if (message.utterance.has_value()) listener_->OnUtterance(*message.utterance);
  if (message.answers_end_of_speech && !turn_ends_.empty()) {
    listener_->OnTurn(MillisecondsBetween(turn_ends_.front(), last_word_time_));
    turn_ends_.pop_front();
  }
  switch (message.kind) {
    case ServerMessage::Kind::kReady:
      if (message.look_ahead_ms >= 0) look_ahead_ms_ = message.look_ahead_ms;
      return BeginAudio(message.num_samples);
    case ServerMessage::Kind::kPartial:
      return ReportPartial(message);
    case ServerMessage::Kind::kSnapshot:
      CountProgress(message.num_samples);
      token_ = message.text;
      return;
    case ServerMessage::Kind::kFinal: {
      SessionResult result;
      if (!turn_ends_.empty()) {
        result.code = "bad_reply";
        result.message = options_.servers[server_].Text() +
                         ": the stream ended without answers to " +
                         std::to_string(turn_ends_.size()) + " ends of speech";
        return End(std::move(result));
      }
      result.is_success = true;
      result.text = message.text;
      result.final_ms = MillisecondsBetween(finish_time_, last_word_time_);
      result.server_final_ms = message.latency_ms;
      return End(std::move(result));
    }
    case ServerMessage::Kind::kError:
      return OnServerError(message);
    case ServerMessage::Kind::kUtterance:
    case ServerMessage::Kind::kOther:
      return;
  }
}

// Only progress beyond all earlier audio ends a period of failures: a server that accepts a stream
// and fails each time, or each time at the same sample, makes no progress.
bool Session::CountProgress(int64_t num_samples) {
  if (num_samples <= num_covered_) return false;
  num_covered_ = num_samples;
  trouble_begin_.reset();
  has_failed_here_ = false;
  wait_s_ = kFirstWaitS;
  return true;
}

void Session::ReportPartial(const ServerMessage& message) {
  PartialTiming timing;
  timing.since_first_packet = MillisecondsBetween(first_sent_time_, last_word_time_);
  if (CountProgress(static_cast<int64_t>(message.audio_ms * track_->sample_rate_hz() / 1000))) {
    timing.server_latency = message.latency_ms;
    const auto needed =
        static_cast<int64_t>((message.audio_ms + look_ahead_ms_) * track_->sample_rate_hz() / 1000);
    while (sent_.size() > 1 && sent_.front().end < needed) sent_.pop_front();
    if (is_finished_ && needed > next_sample_) {
      timing.since_last_sample = MillisecondsBetween(finish_time_, last_word_time_);
    } else if (!sent_.empty() && needed > first_sample_) {
      timing.since_last_sample = MillisecondsBetween(sent_.front().time, last_word_time_);
    }
  }
  listener_->OnPartial(message.text, timing);
}

void Session::OnServerError(const ServerMessage& message) {
  // The client has all the audio, so a lost snapshot costs only time.
  if (message.code == "snapshot_unknown" || message.code == "snapshot_invalid") token_.clear();
  const bool fails_again = message.code == kStreamFailed && std::exchange(has_failed_here_, true);
  RetryOrFail({message.code,
               options_.servers[server_].Text() + ": the server's error " + message.code + ": " +
                   message.text,
               MayBeRetried(message.code) && !fails_again});
}

void Session::OnTimeout() {
  RetryOrFail({"timeout",
               options_.servers[server_].Text() + ": no answer for " +
                   Decimal(options_.timeout_s, 1) + " s",
               true});
}

void Session::OnClosed(const ConnectionEnd& end) {
  connection_ = nullptr;
  RetryOrFail(end);
}

void Session::RetryOrFail(const ConnectionEnd& end) {
  pace_timer_.Cancel();
  silence_timer_.Cancel();
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->Abort();
  const Clock::time_point now = Clock::now();
  if (!trouble_begin_.has_value()) trouble_begin_ = now;
  const double trouble_s = MillisecondsBetween(*trouble_begin_, now) / 1000;
  if (!options_.resumes || !end.may_be_retried || trouble_s + wait_s_ > options_.retry_s) {
    SessionResult result;
    result.code = end.code;
    result.message = end.message;
    return End(std::move(result));
  }
  if (wait_s_ == kFirstWaitS) ++num_resumes_;  // once per lost connection, not per retry
  listener_->OnRetry(end.message);
  server_ = (server_ + 1) % options_.servers.size();
  // The random part spreads the clients of a server that died.
  retry_timer_.SetAfter(wait_s_ * std::uniform_real_distribution<double>(0.5, 1)(random_));
  wait_s_ = std::min(2 * wait_s_, kLongestWaitS);
}

void Session::End(SessionResult result) {
  pace_timer_.Cancel();
  silence_timer_.Cancel();
  if (connection_ != nullptr) {
    // A server that has ended the stream may never read the packet under way.
    const std::shared_ptr<Connection> connection = std::exchange(connection_, nullptr);
    is_packet_under_way_ ? connection->Abort() : connection->Close();
  }
  result.num_resumes = num_resumes_;
  result.send_lag_ms = send_lag_ms_;
  std::exchange(listener_, nullptr)->OnEnd(result);
}

}  // namespace runnel::client
