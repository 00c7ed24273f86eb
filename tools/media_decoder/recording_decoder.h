// Decodes one recording with FFmpeg.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_RECORDING_DECODER_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_RECORDING_DECODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/media/recording_clock.h"
#include "tools/media_decoder/container_check.h"
#include "tools/media_decoder/input.h"
#include "tools/media_decoder/packet_check.h"
#include "tools/media_decoder/reply_writer.h"
#include "tools/media_decoder/skipped_parts.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswresample/swresample.h>
}

namespace runnel::media_decoder {

struct FormatCloser {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
};
struct IoFreer {
  void operator()(AVIOContext* context) const;
};
struct CodecFreer {
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
};
struct ResamplerFreer {
  void operator()(SwrContext* context) const { swr_free(&context); }
};
struct FrameFreer {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct PacketFreer {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};

// Writes the samples of a recording's audio track at their times: gaps are silence, and so is the
// time before the track where another one begins earlier. All have the rate of the first; audio of
// another rate, in a chain, is resampled. A container or a codec that is not listed in the
// source file is refused. Functions throw std::runtime_error, the text of an error reply.
class RecordingDecoder {
 public:
  // `container`: FFmpeg's name.
  RecordingDecoder(Input* input, std::string container, const MediaChoice& choice,
                   ReplyWriter* replies);

  void Decode();

 private:
  // The functions that FFmpeg calls.
  static int Read(void* self, uint8_t* bytes, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);

  bool can_seek() const { return input_.size() >= 0; }
  void Open();
  // Sets track_.
  void ChooseTrack();
  void OpenCodec();
  // A packet that cannot be decoded is damage when another packet follows: a recording that is cut
  // off may have half a packet at its end.
  void DecodePacket(const AVPacket* packet);
  // Leaves out the packet that could not be decoded, or bytes that are damaged; fails when nothing
  // may be left out.
  void LeaveOutPacket();
  void LeaveOut(int64_t at, int64_t bytes, int error);
  // The time of a packet that is left out, where packets have no times.
  void KeepDuration(int64_t ticks);
  void TakePacket(AVPacket* packet);
  // Leaves out the damage up to this byte, which was read.
  void CheckUpTo(int64_t end);
  // In a file: lets check_ read as far.
  void ReadCheckUpTo(int64_t end);
  void CheckEnd();
  int64_t NumBytesBehind();
  // Whether the packet is the first of another recording, joined to this one.
  bool IsJoint(const AVPacket& packet) const;
  // Whether fragments before the packet are missing.
  bool HasGap(const AVPacket& packet);
  void ReadFrames();
  void WriteFrame();
  // `time`: of the pause, in the track's time base.
  void WritePause(int64_t time);
  void WriteSilence(int64_t count);
  // Writes the silence before a frame.
  void KeepTime(const AVFrame& frame);
  // The same for a new format of frames. With the samples that the last one has left.
  void SetResampler();
  void WriteResampled(const uint8_t** data, int count);
  void WriteFormat(int rate_hz, int channels);
  void StartClock();
  [[noreturn]] void FailAsDamaged(int error) const;
  int64_t MissingBehindClock() const;
  int64_t MissingTicks() const;
  int64_t MissingSamples() const;

  Input& input_;
  const std::string container_;
  const MediaChoice choice_;
  ReplyWriter& replies_;
  const std::unique_ptr<ContainerCheck> check_;  // null: the container tells nothing
  std::optional<PacketCheck> packet_check_;

  std::unique_ptr<AVIOContext, IoFreer> io_;
  std::unique_ptr<AVFormatContext, FormatCloser> format_;
  const AVStream* track_ = nullptr;
  std::optional<RecordingClock> clock_;  // of a container that has times, from the first frame on
  std::unique_ptr<AVCodecContext, CodecFreer> codec_;
  std::unique_ptr<SwrContext, ResamplerFreer> resampler_;
  const std::unique_ptr<AVPacket, PacketFreer> packet_;
  const std::unique_ptr<AVFrame, FrameFreer> frame_;
  // Of the frames that the resampler reads.
  int frame_rate_hz_ = 0;
  int frame_format_ = -1;
  int channels_ = 0;

  int rate_hz_ = 0;  // of all samples; 0 before the first
  int64_t num_samples_ = 0;
  int packet_error_ = 0;   // of the last packet
  int64_t packet_at_ = 0;  // its place, size and duration
  int64_t packet_bytes_ = 0;
  int64_t packet_ticks_ = 0;
  SkippedParts skipped_;
  int64_t announced_ticks_ = 0;             // of the header, in the track's time base; 0: none
  int64_t num_ticks_ = 0;                   // of the packets
  std::optional<int64_t> first_timestamp_;  // of a packet
  int64_t last_timestamp_ = 0;              // of a packet
  int64_t last_packet_at_ = 0;              // in the recording
  int64_t last_lag_ = 0;  // samples by which the packets' times precede num_samples_
  std::vector<float> interleaved_;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_RECORDING_DECODER_H_
