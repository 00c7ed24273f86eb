#include "tools/server/riva/riva_protocol.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <utility>

#include "runtime/text/printable.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/riva/grpc_status.h"
#include "tools/server/riva/riva_results.h"

namespace runnel::server {
namespace {

using nvidia::riva::asr::StreamingRecognitionConfig;
using nvidia::riva::asr::StreamingRecognizeRequest;
using nvidia::riva::asr::StreamingRecognizeResponse;
using Wire = google::protobuf::internal::WireFormatLite;

// The audio of `message`, in its place: a copy of it would be memory that no budget counts. The
// message is valid. As in Protocol Buffers, the last of several fields counts.
std::string_view AudioIn(std::string_view message) {
  constexpr uint32_t kTag = Wire::MakeTag(StreamingRecognizeRequest::kAudioContentFieldNumber,
                                          Wire::WIRETYPE_LENGTH_DELIMITED);
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                                               static_cast<int>(message.size()));
  std::string_view audio;
  while (const uint32_t tag = input.ReadTag()) {
    uint32_t size = 0;
    if (tag != kTag) {
      Wire::SkipField(&input, tag);
    } else if (input.ReadVarint32(&size)) {
      audio = message.substr(static_cast<size_t>(input.CurrentPosition()), size);
      input.Skip(static_cast<int>(size));
    }
  }
  return audio;
}

// Other values count as false, as in NVIDIA's server. Some clients write a bool into the field of
// runtime_config, which protobuf keeps as an unknown field.
bool ForcesEndOfUtterance(const StreamingRecognizeRequest& request) {
  const auto found = request.runtime_config().find("force_eou");
  if (found != request.runtime_config().end()) return found->second == "true";
  const google::protobuf::UnknownFieldSet& unknown =
      request.GetReflection()->GetUnknownFields(request);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    if (field.number() == StreamingRecognizeRequest::kRuntimeConfigFieldNumber &&
        field.type() == google::protobuf::UnknownField::TYPE_VARINT) {
      return field.varint() != 0;
    }
  }
  return false;
}

}  // namespace

RivaProtocol::RivaProtocol(RivaModel model, std::string id)
    : model_(std::move(model)), id_(std::move(id)) {}

Closing RivaProtocol::CloseAfter(const ProtocolError& error) const {
  return {GrpcStatus(error.code), Printable(error.message)};
}

bool RivaProtocol::TakesLong(const ClientMessage& message) const {
  // Without a decoder, the config, which may have a list of hotwords.
  const bool is_costly = decoder_ == nullptr ? !message.is_text : decoder_->is_costly();
  return is_costly || (!message.is_text && Protocol::TakesLong(message));
}

std::vector<ClientRequest> RivaProtocol::Read(const ClientMessage& message) {
  if (phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&] { return message.is_text ? ReadEnd() : ReadRequest(message.bytes); });
}

std::vector<ClientRequest> RivaProtocol::ReadMore(std::string_view rest) {
  return Checked(&phase_, [&] {
    return phase_ == Phase::kEnding ? ReadLast(decoder_->Decode({})) : ReadAudio(rest, 0);
  });
}

std::vector<ClientRequest> RivaProtocol::ReadRequest(std::string_view bytes) {
  StreamingRecognizeRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw ClientMistake(ErrorCode::kBadMessage, "a message is not a StreamingRecognizeRequest");
  }
  id_ = ResponseId(request.id(), id_);
  if (request.has_streaming_config()) {
    if (phase_ != Phase::kBeforeConfig) {
      throw ClientMistake(ErrorCode::kUnsupportedOrder, "a second streaming_config in one call");
    }
    ReadConfig(request.streaming_config());
    return {};
  }
  if (phase_ == Phase::kBeforeConfig) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder,
                        "the first message has no streaming_config, which must come before audio");
  }
  const std::string_view audio = AudioIn(bytes);
  num_left_ = audio.size();
  ends_utterance_ = ForcesEndOfUtterance(request);
  const size_t num_before = audio.empty() ? 0 : static_cast<size_t>(audio.data() - bytes.data());
  return ReadAudio(audio, num_before);
}

void RivaProtocol::ReadConfig(const StreamingRecognitionConfig& config) {
  start_ = ReadRivaConfig(config.config(), model_);
  decoder_ = MakeRivaDecoder(config.config(), model_);
  parts_ = PartsOf(config.config(), model_);
  wants_interim_ = config.interim_results();
  phase_ = Phase::kBeforeAudio;
}

std::vector<ClientRequest> RivaProtocol::ReadAudio(std::string_view rest, size_t num_before) {
  std::vector<ClientRequest> requests;
  MediaPart part = DecodePart(decoder_.get(), rest.substr(0, num_left_));
  num_left_ -= part.num_read;
  if (phase_ == Phase::kBeforeAudio && decoder_->sample_rate_hz() > 0) {
    StartAt(decoder_->sample_rate_hz(), &requests);
  }
  if (!part.samples.empty()) requests.emplace_back(AudioRequest{std::move(part.samples)});
  if (part.has_more) {
    requests.emplace_back(MoreRequest{num_before + part.num_read});
  } else if (ends_utterance_ && phase_ == Phase::kAudio) {
    requests.emplace_back(FlushRequest{});
  }
  return requests;
}

void RivaProtocol::StartAt(int sample_rate_hz, std::vector<ClientRequest>* requests) {
  start_.options.values.stream.sample_rate_hz = sample_rate_hz;
  requests->emplace_back(std::move(start_));
  phase_ = Phase::kAudio;
}

// A call without audio, or with a part of a header, has an empty result.
std::vector<ClientRequest> RivaProtocol::ReadEnd() {
  if (phase_ == Phase::kBeforeConfig) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "the call ended before a streaming_config");
  }
  return ReadLast(decoder_->Finish());
}

std::vector<ClientRequest> RivaProtocol::ReadLast(std::vector<float> samples) {
  std::vector<ClientRequest> requests;
  if (phase_ == Phase::kBeforeAudio) {
    const int known_hz = decoder_->sample_rate_hz();
    StartAt(known_hz > 0 ? known_hz : model_.sample_rate_hz, &requests);
  }
  const bool has_more = AppendEnd(*decoder_, std::move(samples), &requests);
  phase_ = has_more ? Phase::kEnding : Phase::kOver;
  return requests;
}

StreamingRecognizeResponse RivaProtocol::NewResponse() const {
  StreamingRecognizeResponse response;
  response.mutable_id()->set_value(id_);
  return response;
}

std::vector<std::string> RivaProtocol::OnReady(const SessionInfo& /*info*/) { return {}; }

std::vector<std::string> RivaProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> messages;
  for (const Utterance& utterance : update.utterances) {
    if (!HasText(utterance)) continue;
    StreamingRecognizeResponse response = NewResponse();
    FillFinal(utterance, parts_, response.add_results());
    messages.push_back(response.SerializeAsString());
  }
  if (update.is_final) {
    phase_ = Phase::kOver;
    return messages;
  }
  merged_.Append(update);
  merged_.utterances.clear();
  if (!wants_interim_) return messages;
  StreamingRecognizeResponse response = NewResponse();
  AddInterim(merged_, &response);
  if (response.results_size() > 0) messages.push_back(response.SerializeAsString());
  return messages;
}

// The status of the call says what was wrong.
std::vector<std::string> RivaProtocol::OnError(const ProtocolError& /*error*/) {
  phase_ = Phase::kOver;
  return {};
}

}  // namespace runnel::server
