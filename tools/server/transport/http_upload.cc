#include "tools/server/transport/http_upload.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/live_update.h"
#include "runtime/model.h"
#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/recordings/recognize_job.h"
#include "tools/server/recordings/recording_request.h"
#include "tools/server/recordings/transcription_formats.h"
#include "tools/server/recordings/upload_share.h"
#include "tools/server/resources/access.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
using Clock = std::chrono::steady_clock;

// After a client has closed its side, it is sent a first byte: one that has gone resets the
// connection.
constexpr std::chrono::seconds kProbeTime{1};

// `upload` is moved from. Throws FieldMistake.
RecordingRequest ReadRequest(http::request<http::string_body>* upload, const Model& model,
                             const std::string& id) {
  const std::string_view target(upload->target().data(), upload->target().size());
  RecordingPost post;
  post.id = id;
  post.path = PathOf(target);
  post.query = QueryFields(target);
  post.content_type = std::string((*upload)[http::field::content_type]);
  post.body = std::move(upload->body());
  return ReadRecording(std::move(post), model.tokens(), model.name());
}

// HTTP/1.0 has no interim responses (RFC 9110, section 10.1.1).
bool ExpectsContinue(const http::request<http::string_body>& upload) {
  return upload.version() >= 11 &&
         http::token_list{upload[http::field::expect]}.exists("100-continue");
}

// Held by its operations, and by the registry until it has replied. All members on the stream's
// strand.
class HttpUpload : public std::enable_shared_from_this<HttpUpload> {
 public:
  HttpUpload(std::shared_ptr<HttpConnection> connection,
             http::request_parser<http::empty_body>&& header, Ticket slot)
      : connection_(std::move(connection)),
        share_(services().admission, client().account, std::move(slot),
               connection_->context().ticket),
        dialect_(
            HttpDialectOf(PathOf({header.get().target().data(), header.get().target().size()}))),
        body_(std::in_place, std::move(header)),
        deadline_(Clock::now() + Seconds(limits().max_upload_s)),
        wait_timer_(connection_->stream().get_executor()),
        filler_timer_(connection_->stream().get_executor()) {
    body_->body_limit(limits().max_body_bytes());
  }

  void Start() {
    registration_ = connection_->context().shared->registry->Add(
        [self = shared_from_this(), executor = connection_->stream().get_executor()] {
          net::post(executor, [self] { self->Drain(); });
        });
    share_.Offer([weak = weak_from_this(), executor = connection_->stream().get_executor()] {
      net::post(executor, [weak] {
        if (const auto self = weak.lock()) self->GiveUp();
      });
    });
    if (!ExpectsContinue(body_->get())) return Receive();
    phase_ = Phase::kContinuing;
    connection_->SendContinue([self = shared_from_this()](const SystemError& error) {
      if (error) return self->End();
      self->phase_ = Phase::kReceiving;
      self->Receive();
    });
  }

 private:
  enum class Phase {
    kContinuing,  // "100 Continue" is being sent; nothing is read
    kReceiving,   // the body is being read
    kWaiting,     // the body is there and waits for a place; input is discarded
    kDecoding,    // the job runs; input is discarded
    kStreaming,   // the reply is sent in pieces, while the job runs and after it
    kReplying,    // the reply is being sent; input may be discarded
    kEnded
  };

  const Services& services() const { return *connection_->context().shared->services; }
  Client client() const { return connection_->context().client(); }
  const Limits& limits() const { return services().limits; }
  Metrics& metrics() const { return *services().metrics; }

  // The memory or a slot of this recording is another's now.
  void GiveUp() {
    if (phase_ == Phase::kReplying || phase_ == Phase::kEnded) return;
    if (job_ != nullptr) job_->Cancel();
    OnReady(RefusalReply(Refusal::kUploads, &metrics()));
  }

  void Receive() {
    if (reply_.has_value()) return Reply(*std::move(reply_));
    if (!share_.CountBody(body_->get().body().size()))
      return Reply(RefusalReply(Refusal::kUploads, &metrics()));
    if (body_->is_done()) return AwaitPlace();
    WatchBody();
    http::async_read_some(connection_->stream(), connection_->buffer(), *body_,
                          [self = shared_from_this()](const SystemError& error, size_t /*count*/) {
                            self->OnReceived(error);
                          });
  }

  // A timer of its own, because after a timeout of the stream it could not send the reply.
  void WatchBody() {
    connection_->stream().tcp().expires_never();
    const double idle_s = limits().idle_timeout_s;
    const Clock::time_point idle_at = Clock::now() + Seconds(idle_s);
    const bool is_last = idle_s <= 0 || idle_at >= deadline_;
    wait_timer_.expires_at(is_last ? deadline_ : idle_at);
    wait_timer_.async_wait([self = shared_from_this(), is_last](const SystemError& stopped) {
      const bool is_over = !stopped && Clock::now() >= self->wait_timer_.expiry();
      if (is_over && self->phase_ == Phase::kReceiving) self->OnBodyLate(is_last);
    });
  }

  void OnBodyLate(bool is_last) {
    if (reply_.has_value()) return;
    metrics().CountRejection(Rejection::kUploadTimeout);
    OnReady(ErrorReply(
        408, "upload_timeout",
        is_last ? "the body takes longer than " + Decimal(limits().max_upload_s, 1) + " s"
                : "nothing of the body came for " + Decimal(limits().idle_timeout_s, 1) + " s"));
  }

  void OnReceived(const SystemError& error) {
    if (!error || reply_.has_value()) return Receive();
    if (error == http::error::body_limit) return Reply(BodyTooLargeReply(services()));
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      metrics().CountRejection(Rejection::kBadRequest);
      return Reply(ErrorReply(400, "bad_request", "the body: " + error.message()));
    }
    End();
  }

  // Runs work on the strand, unless the upload has ended.
  auto Poster() {
    return [weak = weak_from_this(), executor = connection_->stream().get_executor()](auto work) {
      net::post(executor, [weak, work = std::move(work)]() mutable {
        if (const auto self = weak.lock()) work(self.get());
      });
    };
  }

  // The connection ends after the reply, so that further input need not be kept.
  void AwaitPlace() {
    phase_ = Phase::kWaiting;
    connection_->stream().tcp().expires_never();
    connection_->DiscardInput([weak = weak_from_this()](HttpConnection::InputEnd end) {
      if (const auto self = weak.lock()) self->OnInputEnd(end);
    });
    const auto post = Poster();
    // Before the timer: a place that is free is taken, however short the time is.
    share_.WaitForPlace([post](const UploadPlaces::Place& place) {
      post([place](HttpUpload* self) { self->OnPlace(place); });
    });
    wait_timer_.expires_after(Seconds(limits().upload_wait_s));
    wait_timer_.async_wait([self = shared_from_this()](const SystemError& stopped) {
      if (stopped || self->phase_ != Phase::kWaiting) return;
      self->Reply(RefusalReply(Refusal::kUploads, &self->metrics()));
    });
  }

  void OnPlace(const UploadPlaces::Place& place) {
    if (phase_ != Phase::kWaiting) return;
    wait_timer_.cancel();
    share_.TakePlace(place);
    Decode();
  }

  void Decode() {
    phase_ = Phase::kDecoding;
    FillAfter(has_client_ended_ ? kProbeTime : Seconds(limits().reply_interval_s));
    // On a file thread: a form may be large and list many phrases.
    auto upload = std::make_shared<http::request<http::string_body>>(body_->release());
    body_.reset();
    const auto post = Poster();
    const auto read = [post, upload, model = services().recognizer->model(),
                       id = connection_->context().id] {
      try {
        const auto request =
            std::make_shared<RecordingRequest>(ReadRequest(upload.get(), *model, id));
        post([request](HttpUpload* self) { self->StartJob(std::move(*request)); });
      } catch (const FieldMistake& mistake) {
        post([mistake](HttpUpload* self) { self->RefuseRequest(mistake); });
      } catch (const std::exception& error) {
        LogRated(LogLevel::kError, "upload failed", error.what());
        post([](HttpUpload* self) {
          self->RefuseRequest({ErrorCode::kInternal, "", "an error of the server"});
        });
      }
    };
    if (!services().file_threads->Run(read, client().account)) {
      Reply(RefusalReply(Refusal::kUploads, &metrics()));
    }
  }

  void RefuseRequest(const FieldMistake& mistake) {
    metrics().CountError(mistake.code());
    OnReady(ErrorReply({mistake.code(), mistake.what()}, mistake.param()));
  }

  void StartJob(RecordingRequest request) {
    if (phase_ != Phase::kDecoding) return;
    format_ = std::move(request.format);
    job_ = StartRecognizeJob(services(), "http", client().account, std::move(request.recording),
                             ReplyWith(format_));
  }

  // The result in this format, perhaps in pieces, or an error. Updates are merged while as much
  // waits for the client as may, so that what waits does not grow with their number.
  RecordingReceiver ReplyWith(const std::shared_ptr<RecordingFormat>& format) {
    const auto post = Poster();
    const auto send = [post, num_unsent = num_unsent_](std::string piece) {
      if (piece.empty()) return;
      *num_unsent += piece.size();
      post([piece = std::move(piece)](HttpUpload* self) { self->OnPiece(piece); });
    };
    const auto merged = std::make_shared<std::optional<LiveUpdate>>();
    RecordingReceiver receiver;
    receiver.on_start = [send, format](const RecordingStart& start) { send(format->Begin(start)); };
    receiver.on_update = [send, format, merged, num_unsent = num_unsent_,
                          max_unsent = limits().max_send_queue_bytes()](LiveUpdate update) {
      if (merged->has_value()) {
        (*merged)->Append(std::move(update));
      } else {
        *merged = std::move(update);
      }
      if (*num_unsent < max_unsent) send(format->Add(*std::exchange(*merged, std::nullopt)));
    };
    receiver.on_result = [post, format, merged](const RecordingResult& result) {
      HttpReply reply;
      reply.content_type = format->content_type();
      if (merged->has_value()) reply.body = format->Add(**merged);
      reply.body += format->Finish(result);
      if (result.announced_ms.has_value()) {
        reply.headers.emplace_back("X-Announced-Ms", Decimal(*result.announced_ms, 0));
      }
      for (const std::string& warning : result.warnings) {
        reply.headers.emplace_back("X-Warning", warning);
      }
      post([reply = std::move(reply)](HttpUpload* self) mutable {
        self->OnReady(std::move(reply));
      });
    };
    receiver.on_error = [post](const ProtocolError& error) {
      post([reply = ErrorReply(error)](HttpUpload* self) mutable {
        self->OnReady(std::move(reply));
      });
    };
    return receiver;
  }

  void OnInputEnd(HttpConnection::InputEnd end) {
    if (end == HttpConnection::InputEnd::kBroken) return End();
    has_client_ended_ = true;
    connection_->WatchForLoss([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self != nullptr && self->phase_ != Phase::kEnded) self->End();
    });
    if (phase_ == Phase::kDecoding) FillAfter(kProbeTime);
  }

  // Begins or continues the reply with a piece that changes no meaning: proxies and clients wait
  // for the next byte only so long, and one that has closed its side may be gone.
  void FillAfter(Clock::duration time) {
    if (time <= Clock::duration::zero()) return;
    filler_timer_.expires_after(time);
    filler_timer_.async_wait([self = shared_from_this()](const SystemError& stopped) {
      if (!stopped) self->Fill();
    });
  }

  void Fill() {
    if (phase_ != Phase::kDecoding && phase_ != Phase::kStreaming) return;
    FillAfter(Seconds(limits().reply_interval_s));
    if (format_ == nullptr || reply_.has_value()) return;  // a form is being read, or all is there
    const std::string filler = format_->Filler();
    // The header alone tells whether the client is there.
    const bool may_begin = !filler.empty() || (has_client_ended_ && !connection_->is_http10());
    if (!may_begin || is_sending_ || !pieces_.empty()) return;
    *num_unsent_ += filler.size();
    OnPiece(filler);
  }

  // A piece of the reply is there.
  void OnPiece(const std::string& piece) {
    if (phase_ != Phase::kDecoding && phase_ != Phase::kStreaming) return;
    if (reply_.has_value()) return;  // the server ends, and so does the reply
    pieces_ += piece;
    phase_ == Phase::kDecoding ? StartStreaming() : SendPieces();
  }

  void StartStreaming() {
    phase_ = Phase::kStreaming;
    HttpReply header;
    header.content_type = format_->content_type();
    is_sending_ = true;
    connection_->SendHeader(header, [self = shared_from_this()](const SystemError& error) {
      self->OnPieceSent(error);
    });
  }

  void OnPieceSent(const SystemError& error) {
    is_sending_ = false;
    if (error || phase_ != Phase::kStreaming) return End();
    SendPieces();
  }

  // The last pieces are those of reply_.
  void SendPieces() {
    if (is_sending_) return;
    if (pieces_.empty() && reply_.has_value()) return SendLastPiece();
    if (pieces_.empty()) return;
    is_sending_ = true;
    const auto on_sent = [self = shared_from_this(),
                          size = pieces_.size()](const SystemError& error) {
      *self->num_unsent_ -= size;
      self->OnPieceSent(error);
    };
    connection_->SendPiece(std::exchange(pieces_, std::string()), on_sent);
  }

  // A reply that is cut ends without its end, so that no client takes it for a result.
  void SendLastPiece() {
    phase_ = Phase::kReplying;
    filler_timer_.cancel();
    job_.reset();
    if (is_cut_) return OnReplied({});
    connection_->SendEnd(
        *reply_, [self = shared_from_this()](const SystemError& error) { self->OnReplied(error); });
  }

  // The rest of a reply whose first pieces were sent, with the status 200.
  void EndPieces(HttpReply reply) {
    if (reply_.has_value()) return;  // it is complete
    share_.EndWork();
    if (reply.status != 200) {
      reply = dialect_.in_words(std::move(reply), connection_->context().id);
      reply.body = format_->ErrorPiece(reply.body);
      is_cut_ = !format_->is_event_stream();
    }
    *num_unsent_ += reply.body.size();
    pieces_ += reply.body;
    reply_ = std::move(reply);
    SendPieces();
  }

  // The reply is there, from the job or because the server ends.
  void OnReady(HttpReply reply) {
    switch (phase_) {
      case Phase::kReceiving:
        connection_->stream().tcp().cancel();
        [[fallthrough]];
      case Phase::kContinuing:
        reply_ = std::move(reply);  // sent when the operation under way has ended
        return;
      case Phase::kStreaming:
        return EndPieces(std::move(reply));
      case Phase::kWaiting:
      case Phase::kDecoding:
        return Reply(std::move(reply));
      case Phase::kReplying:
      case Phase::kEnded:
        return;
    }
  }

  // The server ends and does not wait for the recording any more.
  void Drain() {
    if (phase_ == Phase::kReplying || phase_ == Phase::kEnded || !share_.has_slot()) return;
    // The server waits for the slots, so this one is kept until the client has read the reply.
    slot_until_close_ = share_.TakeSlot();
    if (job_ != nullptr) job_->Cancel();
    OnReady(RefusalReply(Refusal::kDraining, &metrics()));
  }

  void Reply(HttpReply reply) {
    phase_ = Phase::kReplying;
    body_.reset();
    share_.EndWork();
    wait_timer_.cancel();
    filler_timer_.cancel();
    job_.reset();
    connection_->SendReply(
        dialect_.in_words(std::move(reply), connection_->context().id), {},
        [self = shared_from_this()](const auto& error) { self->OnReplied(error); });
  }

  void OnReplied(const SystemError& error) {
    if (error || phase_ == Phase::kEnded) return End();
    phase_ = Phase::kEnded;
    registration_.reset();
    share_.TakeSlot();
    connection_->CloseAfterReply(std::move(slot_until_close_));
  }

  // The client is gone.
  void End() {
    phase_ = Phase::kEnded;
    share_.EndWork();
    wait_timer_.cancel();
    filler_timer_.cancel();
    if (job_ != nullptr) job_->Cancel();
    job_.reset();
    registration_.reset();
    share_.TakeSlot();
    slot_until_close_.reset();
    connection_->Close();
  }

  const std::shared_ptr<HttpConnection> connection_;
  Phase phase_ = Phase::kReceiving;
  UploadShare share_;
  Ticket slot_until_close_;
  SessionRegistry::Handle registration_;
  const HttpDialect& dialect_;  // of the client
  std::optional<http::request_parser<http::string_body>> body_;
  const Clock::time_point deadline_;  // of the body
  net::steady_timer wait_timer_;      // for the body, then for a place
  bool has_client_ended_ = false;     // the client has closed its sending side
  std::shared_ptr<RecognizeJob> job_;
  std::shared_ptr<RecordingFormat> format_;  // null until the request was read
  net::steady_timer filler_timer_;
  std::optional<HttpReply> reply_;  // waits for the operation under way
  // Of a reply in pieces.
  std::string pieces_;  // wait for the operation under way
  // Bytes of the pieces that wait or are being sent. The threads of the job use it, too.
  const std::shared_ptr<std::atomic<size_t>> num_unsent_ = std::make_shared<std::atomic<size_t>>(0);
  bool is_sending_ = false;
  bool is_cut_ = false;
};

}  // namespace

void ServeUpload(std::shared_ptr<HttpConnection> connection,
                 http::request_parser<http::empty_body>&& header, Ticket slot) {
  std::make_shared<HttpUpload>(std::move(connection), std::move(header), std::move(slot))->Start();
}

HttpReply BodyTooLargeReply(const Services& services) {
  services.metrics->CountRejection(Rejection::kBodyTooLarge);
  return ErrorReply(
      413, "body_too_large",
      "the body is larger than " + std::to_string(services.limits.max_body_bytes()) + " bytes");
}

}  // namespace runnel::server
