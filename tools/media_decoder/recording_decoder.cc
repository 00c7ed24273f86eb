#include "tools/media_decoder/recording_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "frontend/media/container.h"
#include "frontend/mix_channels.h"

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
}

namespace runnel::media_decoder {
namespace {

// FFmpeg's names. The lists are closed, because every other reader is one more to be attacked.
constexpr char kContainers[] = "matroska,mov,ogg,aac,mp3,amr,flac,wav";
constexpr char kCodecs[] =
    "opus,vorbis,flac,aac,alac,mp3float,mp2float,mp1float,amrnb,amrwb,g722,g726,g726le,"
    "g723_1,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,"
    "pcm_f32be,pcm_alaw,pcm_mulaw";
constexpr char kCodecNames[] =
    "AAC, Opus, MP3, Vorbis, FLAC, ALAC, AMR, G.722, G.723.1, G.726 or PCM";

// FFmpeg reads as many bytes at a time. A stream's samples wait for them, so they are few.
constexpr int kStreamBlockBytes = 1 << 9;
constexpr int kFileBlockBytes = 1 << 15;
// Of a recording's beginning, in which FFmpeg looks for what the header does not say.
constexpr int64_t kMaxProbeBytes = 1 << 20;
// A recording that ends this much before its header says is whole: headers count in packets.
constexpr int64_t kMissingMs = 100;
constexpr size_t kMinMpegFrameBytes = 24;

std::string TextOf(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  return av_make_error_string(text, sizeof(text), error);
}

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void FailAsCodec(const std::string& codec) {
  Fail("holds audio of the codec " + codec + ", expected " + kCodecNames);
}

// Always reads `size` bytes before the end: some of FFmpeg's readers would give other samples for
// other reads, and reads must not depend on how a stream is cut.
int ReadFully(Input* input, uint8_t* bytes, int size) {
  int done = 0;
  while (done < size) {
    const ssize_t count = input->Read(bytes + done, static_cast<size_t>(size - done));
    if (count < 0) return AVERROR(EIO);
    if (count == 0) break;
    done += static_cast<int>(count);
  }
  return done == 0 ? AVERROR_EOF : done;
}

int64_t SeekInput(Input* input, int64_t offset, int whence) {
  if (whence == AVSEEK_SIZE) return input->size();
  if (whence == SEEK_CUR) offset += input->position();
  if (whence == SEEK_END) offset += input->size();
  if (offset < 0) return AVERROR(EINVAL);
  input->Seek(offset);
  return offset;
}

// The size of the tag that `bytes` begin with, such as one between the pieces of an MP3 file that
// was joined; 0: there is none. Of a tag that is always the last, `bytes` themselves.
int64_t TagBytes(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 10;
  constexpr int64_t kOldTagBytes = 128;
  if (bytes.substr(0, 3) == "TAG") return kOldTagBytes;
  if (bytes.substr(0, 8) == "APETAGEX" || bytes.substr(0, 11) == "LYRICSBEGIN") {
    return static_cast<int64_t>(bytes.size());
  }
  if (bytes.size() < kHeaderBytes || bytes.substr(0, 3) != "ID3") return 0;
  int64_t size = 0;
  for (const char byte : bytes.substr(6, 4)) size = size << 7 | (byte & 0x7F);
  return size + static_cast<int64_t>(kHeaderBytes);
}

// Of each track, before FFmpeg estimates what the header does not say; 0: unknown.
std::vector<int64_t> AnnouncedTicks(const AVFormatContext& format) {
  std::vector<int64_t> ticks;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream& track = *format.streams[i];
    int64_t duration = track.duration;
    if (duration == AV_NOPTS_VALUE && format.duration != AV_NOPTS_VALUE) {
      duration = av_rescale_q(format.duration, {1, AV_TIME_BASE}, track.time_base);
    }
    ticks.push_back(std::max<int64_t>(duration, 0));
  }
  return ticks;
}

}  // namespace

void IoFreer::operator()(AVIOContext* context) const {
  av_freep(&context->buffer);
  avio_context_free(&context);
}

RecordingDecoder::RecordingDecoder(Input* input, std::string container, int channel,
                                   ReplyWriter* replies)
    : input_(*input),
      container_(std::move(container)),
      channel_(channel),
      replies_(*replies),
      packet_(av_packet_alloc()),
      frame_(av_frame_alloc()) {
  if (packet_ == nullptr || frame_ == nullptr) throw std::bad_alloc();
}

int RecordingDecoder::Read(void* self, uint8_t* bytes, int size) {
  auto* const decoder = static_cast<RecordingDecoder*>(self);
  const int64_t position = decoder->input_.position();
  const int count = ReadFully(&decoder->input_, bytes, size);
  if (count > 0 && decoder->container_ == "mov") {
    const bool is_next =
        position == decoder->last_bytes_begin_ + static_cast<int64_t>(decoder->last_bytes_.size());
    if (!is_next) {
      decoder->last_bytes_.clear();
      decoder->last_bytes_begin_ = position;
    }
    decoder->LookForMp4({reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)});
  }
  return count;
}

int64_t RecordingDecoder::Seek(void* self, int64_t offset, int whence) {
  return SeekInput(&static_cast<RecordingDecoder*>(self)->input_, offset, whence);
}

void RecordingDecoder::Open() {
  const AVInputFormat* const container = av_match_list(container_.c_str(), kContainers, ',') > 0
                                             ? av_find_input_format(container_.c_str())
                                             : nullptr;
  if (container == nullptr) Fail("is in a container that media_decoder lacks: " + container_);

  const int block_bytes = can_seek() ? kFileBlockBytes : kStreamBlockBytes;
  auto* const block = static_cast<uint8_t*>(av_malloc(static_cast<size_t>(block_bytes)));
  io_.reset(avio_alloc_context(block, block_bytes, /*write_flag=*/0, this, Read, nullptr,
                               can_seek() ? Seek : nullptr));
  AVFormatContext* format = avformat_alloc_context();
  if (io_ == nullptr || format == nullptr) throw std::bad_alloc();
  io_->max_packet_size = block_bytes;
  format->pb = io_.get();
  format->probesize = kMaxProbeBytes;
  // A file may name others: nothing is opened but what is given here.
  format->io_open = [](AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
    return AVERROR(EACCES);
  };
  av_opt_set(format, "format_whitelist", kContainers, 0);
  av_opt_set(format, "codec_whitelist", kCodecs, 0);
  av_opt_set(format, "protocol_whitelist", "none", 0);
  const int opened = avformat_open_input(&format, "", container, nullptr);  // frees it on failure
  if (opened < 0) Fail("cannot be opened (" + TextOf(opened) + "): it is damaged or cut off");
  format_.reset(format);

  const std::vector<int64_t> announced = AnnouncedTicks(*format);
  // FFmpeg would guess the codec of a number that it does not know.
  if (container_ == "wav" && format->streams[0]->codecpar->codec_id == AV_CODEC_ID_NONE) {
    FailAsCodec("with the number " + std::to_string(format->streams[0]->codecpar->codec_tag));
  }
  avformat_find_stream_info(format, nullptr);  // what it did not find, the decoder does
  const int best = av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
  if (best < 0) Fail("has no track of audio");
  const auto index = static_cast<unsigned>(best);
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (i != index) format->streams[i]->discard = AVDISCARD_ALL;
  }
  track_ = format->streams[index];
  if (index < announced.size()) announced_ticks_ = announced[index];
}

void RecordingDecoder::OpenCodec() {
  const AVCodecParameters& parameters = *track_->codecpar;
  const AVCodec* const codec = avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr || av_match_list(codec->name, kCodecs, ',') <= 0) {
    FailAsCodec(avcodec_get_name(parameters.codec_id));
  }
  codec_.reset(avcodec_alloc_context3(codec));
  if (codec_ == nullptr) throw std::bad_alloc();
  avcodec_parameters_to_context(codec_.get(), &parameters);
  codec_->pkt_timebase = track_->time_base;
  codec_->thread_count = 1;
  const int opened = avcodec_open2(codec_.get(), codec, nullptr);
  if (opened < 0) Fail("cannot be decoded (" + TextOf(opened) + ")");
}

void RecordingDecoder::FailAsDamaged(int error) const {
  if (rate_hz_ == 0 && container_ == "mov" && !can_seek()) {
    Fail("has its index at its end, expected at its beginning (ffmpeg -movflags +faststart)");
  }
  if (rate_hz_ == 0) Fail("is damaged: its first frames cannot be decoded");
  Fail("is damaged after sample " + std::to_string(num_samples_) + " (" + TextOf(error) + ")");
}

void RecordingDecoder::WriteFormat(int rate_hz, int channels) {
  rate_hz_ = rate_hz;
  replies_.WriteFormat({rate_hz, channels});
}

void RecordingDecoder::WriteResampled(const uint8_t** data, int count) {
  const int most = swr_get_out_samples(resampler_.get(), count);
  if (most < 0) FailAsDamaged(most);
  interleaved_.resize(static_cast<size_t>(most) * static_cast<size_t>(channels_));
  auto* out = reinterpret_cast<uint8_t*>(interleaved_.data());
  const int converted = swr_convert(resampler_.get(), &out, most, data, count);
  if (converted < 0) FailAsDamaged(converted);
  float* const samples = interleaved_.data();
  const auto num_converted = static_cast<size_t>(converted);
  MixChannels(samples, num_converted, static_cast<size_t>(channels_), channel_, samples);
  replies_.WriteSamples(samples, num_converted);
  num_samples_ += converted;
}

void RecordingDecoder::SetResampler() {
  const AVFrame& frame = *frame_;
  const int channels = frame.ch_layout.nb_channels;
  if (frame.sample_rate == frame_rate_hz_ && frame.format == frame_format_ &&
      channels == channels_) {
    return;
  }
  if (resampler_ != nullptr) WriteResampled(nullptr, 0);
  if (rate_hz_ == 0) WriteFormat(frame.sample_rate, channels);
  if (channel_ >= channels) {
    Fail("has " + std::to_string(channels) + " channels after sample " +
         std::to_string(num_samples_) + ", expected channel " + std::to_string(channel_) +
         " (counted from 0)");
  }
  frame_rate_hz_ = frame.sample_rate;
  frame_format_ = frame.format;
  channels_ = channels;
  AVChannelLayout layout = {};
  av_channel_layout_default(&layout, channels);
  SwrContext* resampler = nullptr;
  int error =
      swr_alloc_set_opts2(&resampler, &layout, AV_SAMPLE_FMT_FLT, rate_hz_, &layout,
                          static_cast<AVSampleFormat>(frame.format), frame.sample_rate, 0, nullptr);
  resampler_.reset(resampler);
  if (error >= 0) error = swr_init(resampler);
  if (error < 0) FailAsDamaged(error);
}

void RecordingDecoder::WriteFrame() {
  if (frame_->sample_rate < 1 || frame_->ch_layout.nb_channels < 1) {
    FailAsDamaged(AVERROR_INVALIDDATA);
  }
  SetResampler();
  WriteResampled(const_cast<const uint8_t**>(frame_->extended_data), frame_->nb_samples);
}

void RecordingDecoder::ReadFrames() {
  for (;;) {
    const int error = avcodec_receive_frame(codec_.get(), frame_.get());
    if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return;
    if (error < 0) {
      packet_error_ = error;
      return;
    }
    WriteFrame();
    av_frame_unref(frame_.get());
  }
}

// FFmpeg skips bytes that are no frame of MP3 or AAC: they are a packet or the end of one.
bool RecordingDecoder::IsMpegFrame(const AVPacket& packet) {
  const int64_t begin = num_bytes_;
  num_bytes_ += packet.size;
  if (begin < tag_end_) return false;
  std::string_view rest(reinterpret_cast<const char*>(packet.data),
                        static_cast<size_t>(packet.size));
  const size_t frame_bytes = std::min(MpegFrameBytes(rest), rest.size());
  rest.remove_prefix(frame_bytes);
  const int64_t tag_bytes = TagBytes(rest);
  if (tag_bytes > 0) tag_end_ = begin + static_cast<int64_t>(frame_bytes) + tag_bytes;
  // Fewer bytes may be a frame that is cut off.
  if (tag_bytes == 0 && rest.size() > std::max(frame_bytes, kMinMpegFrameBytes)) {
    FailAsDamaged(AVERROR_INVALIDDATA);
  }
  return frame_bytes > 0;
}

void RecordingDecoder::DecodePacket(const AVPacket* packet) {
  if (packet_error_ < 0) FailAsDamaged(packet_error_);
  // A page is missing. In other containers than Ogg, the flag may say that the file is cut off.
  if (packet != nullptr && container_ == "ogg" && (packet->flags & AV_PKT_FLAG_CORRUPT) != 0) {
    packet_error_ = AVERROR_INVALIDDATA;
  }
  const int error = avcodec_send_packet(codec_.get(), packet);
  if (error < 0 && error != AVERROR_EOF) packet_error_ = error;
  ReadFrames();
}

int64_t RecordingDecoder::MissingSamples() const {
  int64_t missing = announced_ticks_ - num_ticks_;
  if (container_ == "mov") {
    // The header may have any length while the file is written. Its packets are known.
    const int count = avformat_index_get_entries_count(track_);
    const AVIndexEntry* const last =
        avformat_index_get_entry(const_cast<AVStream*>(track_), count - 1);
    missing = last == nullptr ? 0 : last->timestamp - last_timestamp_;
  } else if (announced_ticks_ == 0 || container_ == "ogg" || container_ == "aac") {
    return 0;
  }
  const int64_t samples = av_rescale_q(missing, track_->time_base, {1, rate_hz_});
  return samples * 1000 > kMissingMs * rate_hz_ ? samples : 0;
}

// FFmpeg reads the packets of one MP4 file, unless another one is in fragments. `bytes`: the next
// of the input.
void RecordingDecoder::LookForMp4(std::string_view bytes) {
  constexpr std::string_view kBegin = "ftyp";
  constexpr size_t kBrandBytes = 4;
  constexpr size_t kBoxBytes = 4 + kBegin.size() + kBrandBytes;
  last_bytes_ += bytes;
  for (size_t at = last_bytes_.find(kBegin); at != std::string::npos;
       at = last_bytes_.find(kBegin, at + 1)) {
    if (at < 4 || at + kBegin.size() + kBrandBytes > last_bytes_.size()) continue;
    const char* const brand = last_bytes_.data() + at + kBegin.size();
    const std::string_view size = std::string_view(last_bytes_).substr(at - 4, 3);  // upper bytes
    const bool is_box = size == std::string_view("\0\0\0", 3) &&
                        std::all_of(brand, brand + kBrandBytes, [](char c) { return c >= ' '; });
    if (is_box) last_file_at_ = last_bytes_begin_ + static_cast<int64_t>(at) - 4;
  }
  const size_t num_old = last_bytes_.size() - std::min(last_bytes_.size(), kBoxBytes - 1);
  last_bytes_.erase(0, num_old);
  last_bytes_begin_ += static_cast<int64_t>(num_old);
}

void RecordingDecoder::CheckEndOfMp4() {
  std::array<unsigned char, 4096> block;
  while (avio_read(io_.get(), block.data(), static_cast<int>(block.size())) > 0) {
  }
  if (last_file_at_ > last_packet_at_) {
    Fail("is followed by another file after sample " + std::to_string(num_samples_) +
         ", expected one");
  }
}

void RecordingDecoder::Decode() {
  Open();
  OpenCodec();
  const bool is_mpeg = container_ == "mp3" || container_ == "aac";
  for (;;) {
    const int error = av_read_frame(format_.get(), packet_.get());
    if (error == AVERROR_EOF) break;
    if (error < 0) {
      // The last packet of a recording that is cut off may be less than its header.
      if (avio_feof(io_.get()) != 0) break;
      FailAsDamaged(error);
    }
    if (packet_->stream_index == track_->index && (!is_mpeg || IsMpegFrame(*packet_))) {
      num_ticks_ += packet_->duration;
      last_timestamp_ = packet_->dts;
      last_packet_at_ = packet_->pos;
      DecodePacket(packet_.get());
    }
    av_packet_unref(packet_.get());
  }
  if (container_ == "mov") CheckEndOfMp4();
  const int last_error = std::exchange(packet_error_, 0);
  DecodePacket(nullptr);
  if (resampler_ != nullptr) WriteResampled(nullptr, 0);
  if (rate_hz_ == 0) {
    if (last_error < 0 || codec_->sample_rate < 1 || codec_->ch_layout.nb_channels < 1) {
      FailAsDamaged(last_error);
    }
    WriteFormat(codec_->sample_rate, codec_->ch_layout.nb_channels);
  }
  replies_.WriteEnd({MissingSamples()});
}

}  // namespace runnel::media_decoder
