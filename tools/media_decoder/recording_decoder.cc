#include "tools/media_decoder/recording_decoder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <new>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "frontend/mix_channels.h"

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/channel_layout.h>
#include <libavutil/common.h>
#include <libavutil/opt.h>
}

namespace runnel::media_decoder {
namespace {

// FFmpeg's names. The lists are closed, because every other reader is one more to be attacked.
constexpr char kContainers[] = "matroska,mov,ogg,aac,mp3,amr,flac,wav,caf,avi,mpegts,flv,asf";
// Of frames one after the other. FFmpeg makes up their times.
constexpr char kWithoutTimes[] = "aac,mp3,amr,flac,wav";
// The headers of these do not say how long they are, or say it with pauses or padding.
constexpr char kWithoutLength[] = "ogg,aac,mpegts,avi,caf";
constexpr char kCodecs[] =
    "opus,vorbis,flac,aac,aac_latm,alac,mp3float,mp2float,mp1float,ac3,eac3,dca,amrnb,amrwb,"
    "g722,g726,g726le,g723_1,speex,wmav1,wmav2,wmapro,wmavoice,wmalossless,adpcm_ms,"
    "adpcm_ima_wav,adpcm_ima_qt,pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,"
    "pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_alaw,pcm_mulaw";
constexpr char kCodecNames[] =
    "AAC, Opus, MP3, Vorbis, FLAC, ALAC, AC-3, E-AC-3, DTS, WMA, Speex, AMR, G.722, G.723.1, "
    "G.726, "
    "ADPCM or PCM";

// FFmpeg reads as many bytes at a time. A stream's samples wait for them, so they are few.
constexpr int kStreamBlockBytes = 1 << 9;
constexpr int kFileBlockBytes = 1 << 15;
constexpr size_t kCheckBlockBytes = 1 << 12;
// Of a recording's beginning, in which FFmpeg looks for what the header does not say.
constexpr int64_t kMaxProbeBytes = 1 << 20;
// A recording that ends this much before its header says is whole: headers count in packets.
constexpr int64_t kMissingMs = 100;
constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max() - 1;
// FFmpeg may find no packet in much damage.
constexpr int kMostErrors = 1000;
constexpr int64_t kSilenceBlock = 1 << 12;  // samples

std::string TextOf(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  return av_make_error_string(text, sizeof(text), error);
}

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

// `error`: FFmpeg's.
[[noreturn]] void FailWith(const std::string& what, int error, const std::string& rest = "") {
  if (error == AVERROR(ENOMEM)) throw std::bad_alloc();
  Fail(what + " (" + TextOf(error) + ")" + rest);
}

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

// In samples, saturated.
int64_t ToSamples(int64_t ticks, AVRational time_base, int rate_hz) {
  const int64_t samples = av_rescale_q(ticks, time_base, {1, rate_hz});
  // FFmpeg's mark of a number that is too large.
  if (samples == std::numeric_limits<int64_t>::min() && ticks > 0) return kMostTime;
  return std::clamp(samples, -kMostTime, kMostTime);
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

// Of kCodecs; null: none. FFmpeg may prefer another decoder of the codec.
const AVCodec* FindDecoder(AVCodecID id) {
  std::istringstream names(kCodecs);
  for (std::string name; std::getline(names, name, ',');) {
    const AVCodec* const codec = avcodec_find_decoder_by_name(name.c_str());
    if (codec != nullptr && codec->id == id) return codec;
  }
  return nullptr;
}

}  // namespace

void IoFreer::operator()(AVIOContext* context) const {
  av_freep(&context->buffer);
  avio_context_free(&context);
}

RecordingDecoder::RecordingDecoder(Input* input, std::string container, const MediaChoice& choice,
                                   ReplyWriter* replies)
    : input_(*input),
      container_(std::move(container)),
      choice_(choice),
      replies_(*replies),
      check_(MakeContainerCheck(container_)),
      packet_(av_packet_alloc()),
      frame_(av_frame_alloc()) {
  if (packet_ == nullptr || frame_ == nullptr) throw std::bad_alloc();
}

int RecordingDecoder::Read(void* self, uint8_t* bytes, int size) {
  auto* const decoder = static_cast<RecordingDecoder*>(self);
  const int count = ReadFully(&decoder->input_, bytes, size);
  if (count > 0 && decoder->check_ != nullptr && !decoder->can_seek()) {
    decoder->check_->Take({reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)});
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
  // What lies behind the packets of CAF is needed, and cannot be read first.
  const bool lacks_index = container_ == "caf" && !can_seek() && opened == AVERROR_INVALIDDATA;
  if (lacks_index) Fail("has its index at its end, expected at its beginning");
  if (opened < 0) FailWith("cannot be opened", opened, ": it is damaged or cut off");
  format_.reset(format);

  const std::vector<int64_t> announced = AnnouncedTicks(*format);
  // FFmpeg would guess the codec of a number that it does not know.
  if (container_ == "wav" && format->streams[0]->codecpar->codec_id == AV_CODEC_ID_NONE) {
    FailAsCodec("with the number " + std::to_string(format->streams[0]->codecpar->codec_tag));
  }
  avformat_find_stream_info(format, nullptr);  // what it did not find, the decoder does
  ChooseTrack();
  const auto index = static_cast<size_t>(track_->index);
  if (index < announced.size()) announced_ticks_ = announced[index];
}

void RecordingDecoder::ChooseTrack() {
  std::vector<int> tracks;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (format_->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) {
      tracks.push_back(static_cast<int>(i));
    }
  }
  if (tracks.empty()) Fail("has no track of audio");
  const std::string count = "has " + std::to_string(tracks.size()) + " audio tracks";
  const auto chosen = static_cast<size_t>(choice_.audio_track);
  if (choice_.audio_track >= 0 && chosen >= tracks.size()) {
    Fail(count + ", expected track " + std::to_string(choice_.audio_track) + " (counted from 0)");
  }
  int index = av_find_best_stream(format_.get(), AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
  if (choice_.audio_track >= 0) {
    index = tracks[chosen];
  } else if (index < 0) {
    index = tracks[0];
  }
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (static_cast<int>(i) != index) format_->streams[i]->discard = AVDISCARD_ALL;
  }
  track_ = format_->streams[index];
  if (tracks.size() > 1 && choice_.audio_track < 0) {
    const auto number = std::find(tracks.begin(), tracks.end(), index) - tracks.begin();
    replies_.WriteWarning(count + ": track " + std::to_string(number) +
                          " (counted from 0) is decoded, audio_track chooses another");
  }
}

void RecordingDecoder::OpenCodec() {
  const AVCodecParameters& parameters = *track_->codecpar;
  const AVCodec* const codec = FindDecoder(parameters.codec_id);
  if (codec == nullptr) {
    char tag[AV_FOURCC_MAX_STRING_SIZE] = {};
    const bool is_known = parameters.codec_id != AV_CODEC_ID_NONE;
    FailAsCodec(is_known ? avcodec_get_name(parameters.codec_id)
                         : av_fourcc_make_string(tag, parameters.codec_tag));
  }
  codec_.reset(avcodec_alloc_context3(codec));
  if (codec_ == nullptr) throw std::bad_alloc();
  avcodec_parameters_to_context(codec_.get(), &parameters);
  codec_->pkt_timebase = track_->time_base;
  codec_->thread_count = 1;
  // A frame of FLAC has a checksum. Those of MP3 are often wrong.
  if (codec->id == AV_CODEC_ID_FLAC) codec_->err_recognition = AV_EF_CRCCHECK | AV_EF_EXPLODE;
  packet_check_.emplace(container_, codec->id);
  const int opened = avcodec_open2(codec_.get(), codec, nullptr);
  if (opened < 0) FailWith("cannot be decoded", opened);
}

void RecordingDecoder::FailAsDamaged(int error) const {
  if (rate_hz_ == 0 && container_ == "mov" && !can_seek()) {
    Fail("has its index at its end, expected at its beginning (ffmpeg -movflags +faststart)");
  }
  if (rate_hz_ == 0 && error != AVERROR(ENOMEM)) {
    Fail("is damaged: its first frames cannot be decoded");
  }
  FailWith("is damaged after sample " + std::to_string(num_samples_), error);
}

void RecordingDecoder::WriteFormat(int rate_hz, int channels) {
  rate_hz_ = rate_hz;
  replies_.WriteFormat({rate_hz, channels});
}

void RecordingDecoder::StartClock() {
  if (av_match_list(container_.c_str(), kWithoutTimes, ',') > 0) return;
  std::optional<int64_t> earliest;
  if (first_timestamp_.has_value()) {
    // What the encoder has put before the recording ends at its time 0.
    const int64_t begin = ToSamples(*first_timestamp_, track_->time_base, rate_hz_);
    earliest = std::max<int64_t>(begin + track_->codecpar->initial_padding, 0);
  }
  // The programs of a broadcast have times of their own.
  const AVProgram* const program =
      av_find_program_from_stream(format_.get(), nullptr, track_->index);
  const unsigned num_tracks = program == nullptr ? format_->nb_streams : program->nb_stream_indexes;
  for (unsigned i = 0; i < num_tracks; ++i) {
    const AVStream& track = *format_->streams[program == nullptr ? i : program->stream_index[i]];
    const AVMediaType type = track.codecpar->codec_type;
    const bool is_picture = (track.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    const bool counts = (type == AVMEDIA_TYPE_VIDEO && !is_picture) || type == AVMEDIA_TYPE_AUDIO;
    if (!counts || &track == track_ || track.start_time == AV_NOPTS_VALUE) continue;
    const int64_t start = ToSamples(track.start_time, track.time_base, rate_hz_);
    earliest = std::min(start, earliest.value_or(start));
  }
  clock_.emplace(rate_hz_, earliest, (format_->iformat->flags & AVFMT_TS_DISCONT) != 0,
                 can_seek() ? kMostSilenceS : kMostLiveSilenceS);
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
  MixChannels(samples, num_converted, static_cast<size_t>(channels_), choice_.channel, samples);
  const size_t num_left_out = clock_.has_value() ? clock_->TakeOverlap(num_converted) : 0;
  replies_.WriteSamples(samples + num_left_out, num_converted - num_left_out);
  num_samples_ += static_cast<int64_t>(num_converted - num_left_out);
}

void RecordingDecoder::SetResampler() {
  const AVFrame& frame = *frame_;
  const int channels = frame.ch_layout.nb_channels;
  if (frame.sample_rate == frame_rate_hz_ && frame.format == frame_format_ &&
      channels == channels_) {
    return;
  }
  if (resampler_ != nullptr) WriteResampled(nullptr, 0);
  if (rate_hz_ == 0) {
    WriteFormat(frame.sample_rate, channels);
    StartClock();
  }
  if (choice_.channel >= channels) {
    Fail("has " + std::to_string(channels) + " channels after sample " +
         std::to_string(num_samples_) + ", expected channel " + std::to_string(choice_.channel) +
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
  KeepTime(*frame_);
  WriteResampled(const_cast<const uint8_t**>(frame_->extended_data), frame_->nb_samples);
}

void RecordingDecoder::KeepTime(const AVFrame& frame) {
  if (!clock_.has_value() || frame.pts == AV_NOPTS_VALUE) return;
  const int64_t time = ToSamples(frame.pts, track_->time_base, rate_hz_);
  WriteSilence(clock_->SilenceBefore(time, num_samples_));
}

void RecordingDecoder::WriteSilence(int64_t count) {
  static constexpr std::array<float, kSilenceBlock> kSilence = {};
  num_samples_ += count;
  for (; count > 0; count -= kSilenceBlock) {
    replies_.WriteSamples(kSilence.data(), static_cast<size_t>(std::min(count, kSilenceBlock)));
  }
}

void RecordingDecoder::WritePause(int64_t time) {
  constexpr int kFramesPerSecond = 50;
  frame_->pts = time;
  frame_->sample_rate = codec_->sample_rate;
  frame_->format = codec_->sample_fmt;
  frame_->nb_samples = codec_->sample_rate / kFramesPerSecond;
  av_channel_layout_default(&frame_->ch_layout, 1);
  if (const int error = av_frame_get_buffer(frame_.get(), 0); error < 0) FailAsDamaged(error);
  av_samples_set_silence(frame_->extended_data, 0, frame_->nb_samples, 1, codec_->sample_fmt);
  WriteFrame();
  av_frame_unref(frame_.get());
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

void RecordingDecoder::LeaveOut(int64_t at, int64_t bytes, int error) {
  // A frame of AMR has no mark by which the next one is found.
  if (choice_.is_strict || container_ == "amr") FailAsDamaged(error);
  const double seconds = rate_hz_ == 0 ? 0 : static_cast<double>(num_samples_) / rate_hz_;
  skipped_.Add(std::max<int64_t>(at, 0), bytes, seconds);
}

void RecordingDecoder::KeepDuration(int64_t ticks) {
  if (clock_.has_value() || rate_hz_ == 0) return;
  const int64_t count = ToSamples(ticks, track_->time_base, rate_hz_);
  WriteSilence(std::clamp<int64_t>(count, 0, rate_hz_));
}

void RecordingDecoder::LeaveOutPacket() {
  if (packet_error_ >= 0) return;
  LeaveOut(packet_at_, packet_bytes_, packet_error_);
  KeepDuration(packet_ticks_);
  packet_error_ = 0;
}

void RecordingDecoder::DecodePacket(const AVPacket* packet) {
  LeaveOutPacket();
  if (packet != nullptr) {
    packet_at_ = packet->pos;
    packet_bytes_ = packet->size;
    packet_ticks_ = packet->duration;
  }
  const int error = avcodec_send_packet(codec_.get(), packet);
  if (error < 0 && error != AVERROR_EOF) packet_error_ = error;
  ReadFrames();
}

// The segment has a duration, but a track of it has none. Packets may have neither, but all have
// samples.
int64_t RecordingDecoder::MissingBehindClock() const {
  if (format_->nb_streams > 1) return 0;
  const int64_t announced = ToSamples(announced_ticks_, track_->time_base, rate_hz_);
  return announced - clock_->TimeAfter(num_samples_);
}

int64_t RecordingDecoder::MissingTicks() const {
  int64_t missing = av_sat_sub64(announced_ticks_, num_ticks_);
  if (container_ == "mov") {
    // The header may have any length while the file is written. Its packets are known.
    const int count = avformat_index_get_entries_count(track_);
    const AVIndexEntry* const last =
        avformat_index_get_entry(const_cast<AVStream*>(track_), count - 1);
    missing = last == nullptr ? 0 : av_sat_sub64(last->timestamp, last_timestamp_);
  }
  return missing;
}

int64_t RecordingDecoder::MissingSamples() const {
  const bool has_index = container_ == "mov";
  const bool has_length =
      announced_ticks_ > 0 && av_match_list(container_.c_str(), kWithoutLength, ',') == 0;
  if (!has_index && !has_length) return 0;
  const bool has_clock = clock_.has_value() && !has_index;
  const int64_t samples =
      has_clock ? MissingBehindClock() : ToSamples(MissingTicks(), track_->time_base, rate_hz_);
  return samples > kMissingMs * rate_hz_ / 1000 ? samples : 0;
}

void RecordingDecoder::ReadCheckUpTo(int64_t end) {
  if (!can_seek()) return;
  const int64_t present = input_.position();
  std::array<uint8_t, kCheckBlockBytes> block;
  while (check_->position() <= end) {
    input_.Seek(check_->position());
    const int count = ReadFully(&input_, block.data(), static_cast<int>(block.size()));
    if (count <= 0) break;
    check_->Take({reinterpret_cast<const char*>(block.data()), static_cast<size_t>(count)});
    check_->SkipUnneeded();
  }
  input_.Seek(present);
}

void RecordingDecoder::CheckUpTo(int64_t end) {
  if (check_ == nullptr) return;
  ReadCheckUpTo(end);
  for (auto damage = check_->damage(); damage.has_value() && damage->at <= end;
       damage = check_->damage()) {
    const bool is_whole = damage->end.has_value() || end == kToTheEnd || choice_.is_strict;
    if (!is_whole) return;
    LeaveOut(damage->at, damage->end.value_or(check_->position()) - damage->at,
             AVERROR_INVALIDDATA);
    check_->DropDamage();
  }
}

// Other programs append a few bytes. More may be a part of the recording.
int64_t RecordingDecoder::NumBytesBehind() {
  constexpr int64_t kMost = 4096;
  ReadCheckUpTo(kToTheEnd);
  const auto damage = check_->damage();
  if (!damage.has_value()) return 0;
  const int64_t end = can_seek() ? input_.size() : check_->position();
  const int64_t count = end - damage->at;
  return damage->at > last_packet_at_ && count <= kMost ? count : 0;
}

// FFmpeg may have stopped before the end: at what it takes for one, or behind the packets of the
// first of several files.
void RecordingDecoder::CheckEnd() {
  if (check_ == nullptr) return;
  std::array<unsigned char, kCheckBlockBytes> block;
  while (!can_seek() && avio_read(io_.get(), block.data(), static_cast<int>(block.size())) > 0) {
  }
  if (const int64_t size = NumBytesBehind(); size > 0) {
    replies_.WriteWarning("has " + std::to_string(size) +
                          " bytes at its end that do not belong to it");
    return;
  }
  CheckUpTo(kToTheEnd);
  if (container_ == "mov" && check_->last_file_at() > last_packet_at_) {
    Fail("is followed by another file after sample " + std::to_string(num_samples_) +
         ", expected one");
  }
}

bool RecordingDecoder::HasGap(const AVPacket& packet) {
  if (rate_hz_ == 0 || packet.dts == AV_NOPTS_VALUE) return false;
  const int64_t lag = ToSamples(packet.dts, track_->time_base, rate_hz_) - num_samples_;
  const int64_t gap = lag - std::exchange(last_lag_, lag);
  const bool has_jump = check_ != nullptr && check_->last_jump_at() > last_packet_at_;
  return has_jump && gap > kMissingMs * rate_hz_ / 1000;
}

bool RecordingDecoder::IsJoint(const AVPacket& packet) const {
  const int64_t file_at = check_ == nullptr ? 0 : check_->last_file_at();
  return file_at > last_packet_at_ && file_at <= packet.pos;
}

void RecordingDecoder::TakePacket(AVPacket* packet) {
  CheckUpTo(packet->pos);
  switch (packet_check_->KindOf(packet)) {
    case PacketKind::kDamaged:
      LeaveOut(packet->pos, packet->size, AVERROR_INVALIDDATA);
      KeepDuration(packet->duration);
      return;
    case PacketKind::kHeader:
    case PacketKind::kTag:
      return;
    case PacketKind::kPause:
      LeaveOutPacket();
      WritePause(packet->pts);
      return;
    case PacketKind::kAudio:
      if (const int64_t bytes = packet_check_->damaged_bytes(); bytes > 0) {
        LeaveOut(packet_check_->damage_at(), bytes, AVERROR_INVALIDDATA);
      }
      if (HasGap(*packet)) LeaveOut(packet->pos, 0, AVERROR_INVALIDDATA);
      if (!first_timestamp_.has_value() && packet->pts != AV_NOPTS_VALUE) {
        first_timestamp_ = packet->pts;
      }
      if (clock_.has_value() && IsJoint(*packet)) clock_->OnJoint();
      num_ticks_ = av_sat_add64(num_ticks_, packet->duration);
      if (packet->dts != AV_NOPTS_VALUE) last_timestamp_ = packet->dts;
      last_packet_at_ = std::max(last_packet_at_, packet->pos);
      DecodePacket(packet);
  }
}

void RecordingDecoder::Decode() {
  Open();
  OpenCodec();
  int read_error = 0;
  int num_errors = 0;  // one after the other
  for (;;) {
    const int error = av_read_frame(format_.get(), packet_.get());
    if (error == AVERROR_EOF) break;
    if (error < 0) {
      // The last packet of a recording that is cut off may be less than its header.
      if (avio_feof(io_.get()) != 0) break;
      if (choice_.is_strict || check_ == nullptr) LeaveOut(avio_tell(io_.get()), 0, error);
      read_error = error;
      if (++num_errors == kMostErrors) break;
      continue;
    }
    num_errors = 0;
    if (packet_->stream_index == track_->index) TakePacket(packet_.get());
    av_packet_unref(packet_.get());
  }
  CheckEnd();
  // What check_ has found explains it.
  if (read_error < 0 && skipped_.empty()) LeaveOut(avio_tell(io_.get()), 0, read_error);
  const int last_error = std::exchange(packet_error_, 0);
  DecodePacket(nullptr);
  if (resampler_ != nullptr) WriteResampled(nullptr, 0);
  if (rate_hz_ == 0) {
    if (last_error < 0 || !skipped_.empty() || codec_->sample_rate < 1 ||
        codec_->ch_layout.nb_channels < 1) {
      FailAsDamaged(last_error);
    }
    WriteFormat(codec_->sample_rate, codec_->ch_layout.nb_channels);
  }
  if (!skipped_.empty()) replies_.WriteWarning(skipped_.Warning());
  if (last_error < 0) replies_.WriteWarning("is cut off within its last packet");
  if (clock_.has_value()) {
    for (const std::string& warning : clock_->Warnings()) replies_.WriteWarning(warning);
    if (!clock_->has_times()) {
      replies_.WriteWarning("has packets without times, so gaps between them are not known");
    }
  }
  if (check_ != nullptr && check_->num_lost_pages() > 0) {
    replies_.WriteWarning("lacks " + std::to_string(check_->num_lost_pages()) + " pages of Ogg");
  }
  replies_.WriteEnd({MissingSamples()});
}

}  // namespace runnel::media_decoder
