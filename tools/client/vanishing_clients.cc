#include "tools/client/vanishing_clients.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace runnel::client {
namespace {

// The stage at which a client vanishes.
enum class Moment {
  kConnecting,
  kConnected,
  kStarted,      // after the start message
  kSpeaking,     // after some audio
  kFinished,     // after all audio and the finish message
  kFirstResult,  // after the first result
};
constexpr int kNumMoments = 6;
constexpr int kMaxPackets = 20;

}  // namespace

class VanishingClients::Client : public ConnectionListener {
 public:
  Client(VanishingClients* all, uint32_t seed)
      : all_(all), random_(seed), silence_timer_(all->loop_, [this] { OnSilence(); }) {
    all_->loop_->Post([this] { Next(); });
  }
  ~Client() override {
    if (connection_ != nullptr) connection_->Abort();
  }

 private:
  int Random(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  void Next() {
    if (all_->num_begun_ == all_->options_.count) {
      if (--all_->num_active_ == 0) all_->on_done_();
      return;
    }
    const auto number = static_cast<size_t>(all_->num_begun_++);
    track_ = all_->recordings_[number % all_->recordings_.size()].track.get();
    moment_ = static_cast<Moment>(Random(kNumMoments));
    const std::vector<ServerUrl>& servers = all_->options_.session.servers;
    protocol_ = MakeClientProtocol(all_->options_.session.protocol);
    connection_ = all_->connector_->Connect(servers[number % servers.size()], this);
    silence_timer_.SetAfter(all_->options_.session.timeout_s);
    if (moment_ == Moment::kConnecting) all_->loop_->Post([this] { Vanish(); });
  }

  void OnOpen() override {
    if (moment_ == Moment::kConnected) return Vanish();
    StartOptions start = all_->options_.session.start;
    start.sample_rate_hz = track_->sample_rate_hz();
    start.wants_snapshots = all_->options_.session.resumes;
    const std::string message = protocol_->StartMessage(start);
    if (!message.empty()) connection_->SendText(message);
    if (moment_ == Moment::kStarted && !message.empty()) return;
    SendAudio();
    if (moment_ == Moment::kFinished || moment_ == Moment::kFirstResult) {
      connection_->SendText(protocol_->FinishMessage());
    }
  }

  // All audio, or the first few packets.
  void SendAudio() {
    const int num_packets = moment_ == Moment::kSpeaking ? 1 + Random(kMaxPackets) : -1;
    const SessionOptions& session = all_->options_.session;
    const auto encoder = MakePacketEncoder(session.start.encoding, track_, session.packet_ms);
    int64_t sample = 0;
    for (int i = 0; i != num_packets && sample < encoder->num_samples(); ++i) {
      AudioPacket packet = encoder->Next(sample, encoder->num_samples());
      sample += packet.num_samples;
      connection_->SendBinary(std::move(packet.bytes));
    }
  }

  void OnSent() override {
    if (moment_ != Moment::kFirstResult) Vanish();
  }

  void OnMessage(std::string_view bytes) override {
    ServerMessage message;
    try {
      message = protocol_->Read(bytes);
    } catch (const std::exception& error) {
      return Fail("bad_reply", error.what());
    }
    if (message.kind == ServerMessage::Kind::kError) return Fail(message.code, message.text);
    if (message.kind == ServerMessage::Kind::kPartial ||
        message.kind == ServerMessage::Kind::kFinal) {
      Vanish();
    }
  }

  void OnClosed(const ConnectionEnd& end) override {
    connection_ = nullptr;
    Fail(end.code, end.message);
  }

  void OnSilence() {
    Fail("timeout", "no message from the server for a client that is about to vanish");
  }

  void Fail(const std::string& code, const std::string& message) {
    SessionResult result;
    result.code = code;
    result.message = message;
    all_->statistics_->AddFailure(result);
    Leave();
  }

  void Vanish() {
    if (connection_ == nullptr) return;
    ++all_->statistics_->num_vanished;
    Leave();
  }

  void Leave() {
    silence_timer_.Cancel();
    if (connection_ != nullptr) std::exchange(connection_, nullptr)->Abort();
    all_->loop_->Post([this] { Next(); });
  }

  VanishingClients* const all_;
  std::minstd_rand random_;
  Timer silence_timer_;
  const AudioTrack* track_ = nullptr;
  Moment moment_ = Moment::kConnecting;
  std::unique_ptr<ClientProtocol> protocol_;
  std::shared_ptr<Connection> connection_;
};

VanishingClients::VanishingClients(EventLoop* loop, Connector* connector,
                                   const VanishOptions& options,
                                   const std::vector<LoadRecording>& recordings,
                                   LoadStatistics* statistics, std::function<void()> on_done)
    : loop_(loop),
      connector_(connector),
      options_(options),
      recordings_(recordings),
      statistics_(statistics),
      on_done_(std::move(on_done)),
      num_active_(options.at_once) {
  for (int64_t i = 0; i < options_.at_once; ++i) {
    clients_.push_back(std::make_unique<Client>(this, options_.seed + static_cast<uint32_t>(i)));
  }
}

VanishingClients::~VanishingClients() = default;

}  // namespace runnel::client
