#include "tools/server/grpc/recognize_call.h"

#include <memory>
#include <string>
#include <utility>

#include "riva_asr.pb.h"
#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/server/grpc/byte_buffers.h"
#include "tools/server/grpc/grpc_error.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/resources/refusal.h"
#include "tools/server/riva/riva_recording.h"
#include "tools/server/riva/riva_results.h"
#include "tools/server/transport/recognize_job.h"

namespace runnel::server {
namespace {

class RecognizeCall : public GrpcCall {
 public:
  RecognizeCall(CallContext context, const RivaModel& model, boost::asio::io_context* io)
      : GrpcCall(std::move(context), io), model_(model) {}

 private:
  void OnBegin() override {
    deadline_ = Clock::now() + Seconds(services().limits.max_upload_s);
    WaitUntil(deadline_);
    Read();
  }

  void OnMessage(grpc::ByteBuffer* bytes) override {
    deadline_ = Clock::time_point::max();
    const size_t most = services().limits.max_body_bytes();
    if (bytes->Length() > most) {
      services().metrics->CountRejection(Rejection::kBodyTooLarge);
      return Reply({ErrorCode::kMessageTooLarge,
                    "the request is larger than " + std::to_string(most) + " bytes"});
    }
    try {
      Start(*bytes);
      bytes->Clear();  // the job has its own copy of the audio
    } catch (const ClientMistake& mistake) {
      Refuse({mistake.code(), mistake.what()});
    }
  }

  void Start(const grpc::ByteBuffer& bytes) {
    const grpc::Slice slice = SliceOf(bytes);
    RivaRecordingRequest request = ReadRivaRecording(View(slice), model_, id());
    job_ = StartRecognizeJob(services(), "riva", std::move(request.recording),
                             ReplyWith(request.parts, request.id));
  }

  RecordingReceiver ReplyWith(const RivaParts& parts, const std::string& response_id) {
    const auto post = [weak = weak_from_this()](auto work) {
      const auto self = std::static_pointer_cast<RecognizeCall>(weak.lock());
      if (self != nullptr) self->Post([call = self.get(), work = std::move(work)] { work(call); });
    };
    RecordingReceiver receiver;
    receiver.on_update = [](const LiveUpdate& /*update*/) {};
    receiver.on_result = [post, parts, response_id](const RecordingResult& result) {
      nvidia::riva::asr::RecognizeResponse response;
      FillRecording(result.utterances, parts, &response);
      response.mutable_id()->set_value(response_id);
      post([message = response.SerializeAsString()](RecognizeCall* call) { call->Write(message); });
    };
    receiver.on_error = [post](const ProtocolError& error) {
      post([error](RecognizeCall* call) { call->Reply(error); });
    };
    return receiver;
  }

  void OnHalfClose() override {
    Refuse({ErrorCode::kBadMessage, "the call has no message, expected a RecognizeRequest"});
  }

  void OnWritten() override { End(grpc::Status::OK); }

  void OnTime() override {
    if (Clock::now() < deadline_) return WaitUntil(deadline_);
    services().metrics->CountRejection(Rejection::kUploadTimeout);
    Reply({ErrorCode::kTimeLimit,
           "the request takes longer than " + Decimal(services().limits.max_upload_s, 1) + " s"});
  }

  void OnDrain() override {
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
  Clock::time_point deadline_;  // for the request to arrive
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
