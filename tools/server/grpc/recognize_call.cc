// A call of Recognize.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "riva_asr.pb.h"
#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/server/grpc/grpc_call.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/recordings/recognize_job.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/riva/riva_recording.h"
#include "tools/server/riva/riva_results.h"

namespace runnel::server {
namespace {

// A request must come at least as fast: some bytes in each period. A client that only keeps its
// connection alive holds no slot.
constexpr std::chrono::seconds kPeriod{10};
constexpr uint64_t kLeastBytes = 10240;

// The milliseconds that the header of a recording announces which was cut off. The messages of Riva
// have no field for it.
constexpr char kAnnouncedMs[] = "x-announced-ms";
constexpr char kWarning[] = "x-warning";

class RecognizeCall : public GrpcCall {
 public:
  RecognizeCall(CallContext context, const RivaModel& model, boost::asio::io_context* io)
      : GrpcCall(std::move(context), io), model_(model) {}

 private:
  void OnBegin() override {
    connection_ = peer().slot->Join();
    registration_ = registry()->Add([post = Posting()] { post(&RecognizeCall::OnDrain); });
    deadline_ = Clock::now() + Seconds(services().limits.max_upload_s);
    BeginPeriod();
    Read();
  }

  void BeginPeriod() {
    period_end_ = Clock::now() + kPeriod;
    least_bytes_ = num_bytes() + kLeastBytes;
    WaitUntil(std::min(period_end_, deadline_));
  }

  void OnMessage(grpc::ByteBuffer* bytes) override {
    deadline_ = period_end_ = Clock::time_point::max();
    const size_t most = services().limits.max_body_bytes();
    if (bytes->Length() > most) {
      services().metrics->CountRejection(Rejection::kBodyTooLarge);
      return Reply({ErrorCode::kMessageTooLarge,
                    "the request is larger than " + std::to_string(most) + " bytes"});
    }
    if (!TakePlace()) return;
    // A file thread reads it: that may take longer than a network thread can spare.
    auto task = [post = Posting(), shared = std::make_shared<grpc::ByteBuffer>(*bytes),
                 &model = model_, id = id()] { ReadRequest(*shared, model, id, post); };
    bytes->Clear();
    if (!services().file_threads->Run(std::move(task), client().account)) OnDrain();
  }

  // Takes one of the places for decoding. False when there is none, and the call was refused.
  bool TakePlace() {
    slot() = nullptr;  // others may take it meanwhile
    Refusal refusal = Refusal::kNone;
    slot() = services().admission->AdmitUpload(client().account, &refusal);
    if (slot() == nullptr) Reply(RefusalError(refusal, services().metrics));
    return slot() != nullptr;
  }

  // Runs work on the call's strand, if the call still lives.
  using Work = std::function<void(RecognizeCall* call)>;
  std::function<void(Work work)> Posting() {
    return [weak = weak_from_this()](Work work) {
      const auto self = std::static_pointer_cast<RecognizeCall>(weak.lock());
      if (self != nullptr) self->Post([call = self.get(), work = std::move(work)] { work(call); });
    };
  }

  static void ReadRequest(const grpc::ByteBuffer& bytes, const RivaModel& model,
                          const std::string& id, const std::function<void(Work work)>& post) {
    try {
      const grpc::Slice slice = SliceOf(bytes);
      auto request =
          std::make_shared<RivaRecordingRequest>(ReadRivaRecording(View(slice), model, id));
      post([request](RecognizeCall* call) { call->Start(std::move(*request)); });
    } catch (const ClientMistake& mistake) {
      post([error = ProtocolError{mistake.code(), mistake.what()}](RecognizeCall* call) {
        call->Refuse(error);
      });
    } catch (const std::exception& failure) {
      post([error = std::runtime_error(failure.what())](RecognizeCall* /*call*/) { throw error; });
    }
  }

  void Start(RivaRecordingRequest request) {
    job_ = StartRecognizeJob(services(), "riva", client().account, std::move(request.recording),
                             ReplyWith(request.parts, request.id));
  }

  RecordingReceiver ReplyWith(const RivaParts& parts, const std::string& response_id) {
    const auto post = Posting();
    RecordingReceiver receiver;
    receiver.on_update = [](const LiveUpdate& /*update*/) {};
    receiver.on_result = [post, parts, response_id](const RecordingResult& result) {
      nvidia::riva::asr::RecognizeResponse response;
      FillRecording(result.utterances, parts, &response);
      response.mutable_id()->set_value(response_id);
      post([message = response.SerializeAsString(), announced_ms = result.announced_ms,
            warnings = result.warnings](RecognizeCall* call) {
        if (announced_ms.has_value()) call->AddTrailer(kAnnouncedMs, Decimal(*announced_ms, 0));
        for (const std::string& warning : warnings) call->AddTrailer(kWarning, warning);
        call->Send(message);
      });
    };
    receiver.on_error = [post](const ProtocolError& error) {
      post([error](RecognizeCall* call) { call->Reply(error); });
    };
    return receiver;
  }

  void Send(const std::string& message) {
    Write(message);
    deadline_ = Clock::now() + Seconds(services().limits.send_timeout_s);
    WaitUntil(deadline_);
  }

  void OnHalfClose() override {
    Refuse({ErrorCode::kBadMessage, "the call has no message, expected a RecognizeRequest"});
  }

  void OnWritten() override { End(grpc::Status::OK); }

  void OnTime() override {
    const Clock::time_point now = Clock::now();
    if (is_writing()) return now < deadline_ ? WaitUntil(deadline_) : EndSlowReader();
    const bool is_too_slow = now >= period_end_ && num_bytes() < least_bytes_;
    if (now < deadline_ && !is_too_slow) {
      return now < period_end_ ? WaitUntil(std::min(period_end_, deadline_)) : BeginPeriod();
    }
    services().metrics->CountRejection(Rejection::kUploadTimeout);
    Reply({ErrorCode::kTimeLimit, is_too_slow
                                      ? "the request does not arrive"
                                      : "the request takes longer than " +
                                            Decimal(services().limits.max_upload_s, 1) + " s"});
  }

  void EndSlowReader() {
    services().metrics->CountRejection(Rejection::kSlowReader);
    LogRated(LogLevel::kInfo, "call ended", id() + ": the client does not read");
    Cancel();
  }

  // The server shuts down and waits no longer.
  void OnDrain() {
    if (is_writing()) return;  // the result is there
    if (job_ != nullptr) job_->Cancel();
    Reply(RefusalError(Refusal::kDraining, services().metrics));
  }

  void OnLost() override {
    if (job_ != nullptr) job_->Cancel();
  }

  // Counts the error and replies it.
  void Refuse(const ProtocolError& error) {
    services().metrics->CountError(error.code);
    Reply(error);
  }

  void Reply(const ProtocolError& error) { End(StatusOf(error)); }

  const RivaModel& model_;
  Ticket connection_;  // kept: a call that sends too little ends
  SessionRegistry::Handle registration_;
  Clock::time_point deadline_;    // for the request to arrive, then for the reply to be read
  Clock::time_point period_end_;  // when the call must have sent
  uint64_t least_bytes_ = 0;      // so many bytes of messages
  std::shared_ptr<RecognizeJob> job_;
};

}  // namespace

grpc::ServerGenericBidiReactor* ServeRecognizeCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io) {
  const auto call = std::make_shared<RecognizeCall>(std::move(context), model, io);
  call->Begin();
  return call.get();
}

}  // namespace runnel::server
