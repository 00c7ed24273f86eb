#include "frontend/media/container.h"

#include <algorithm>
#include <array>

namespace runnel {
namespace {

constexpr Container kWav = {"a WAV file", nullptr};
constexpr Container kFlac = {"FLAC", "flac"};
constexpr Container kOgg = {"Ogg", "ogg"};
constexpr Container kMatroska = {"WebM or Matroska", "matroska"};
constexpr Container kMp4 = {"MP4", "mov"};
constexpr Container kAmr = {"AMR", "amr"};
constexpr Container kMp3 = {"MP3", "mp3"};
constexpr Container kAdts = {"AAC (ADTS)", "aac"};
constexpr Container kAiff = {"AIFF", nullptr};
constexpr Container kCaf = {"CAF", nullptr};
constexpr Container kRifx = {"RIFX", nullptr};
constexpr Container kW64 = {"W64", nullptr};
constexpr Container kAsf = {"ASF (WMA)", nullptr};

// The bytes at the beginning and those from `at` on.
struct Signature {
  std::string_view first;
  size_t at;
  std::string_view then;
  const Container* container;
};
constexpr std::string_view kNone = "";
constexpr std::string_view kZero("\0", 1);  // of a size below 16 MiB
constexpr std::array<Signature, 18> kSignatures = {{
    {"RIFF", 8, "WAVE", &kWav},
    {"RF64", 8, "WAVE", &kWav},
    {"RIFX", 8, "WAVE", &kRifx},
    {"riff\x2e\x91\xcf\x11", 0, kNone, &kW64},
    {"fLaC", 0, kNone, &kFlac},
    {"OggS", 0, kNone, &kOgg},
    {"\x1A\x45\xDF\xA3", 0, kNone, &kMatroska},
    {std::string_view("\0\0\0", 3), 4, "ftyp", &kMp4},
    {kZero, 4, "moov", &kMp4},
    {kZero, 4, "mdat", &kMp4},
    {std::string_view("\0\0\0\x08", 4), 4, "wide", &kMp4},
    {"#!AMR", 0, kNone, &kAmr},
    {"ID3\2", 0, kNone, &kMp3},
    {"ID3\3", 0, kNone, &kMp3},
    {"ID3\4", 0, kNone, &kMp3},
    {"FORM", 8, "AIF", &kAiff},
    {"caff", 0, kNone, &kCaf},
    {"\x30\x26\xB2\x75\x8E\x66\xCF\x11", 0, kNone, &kAsf},
}};

// Compares as many bytes as there are.
bool Agree(std::string_view begin, size_t at, std::string_view expected) {
  if (begin.size() <= at) return true;
  const size_t size = std::min(begin.size() - at, expected.size());
  return begin.substr(at, size) == expected.substr(0, size);
}

unsigned ByteAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

struct MpegFrame {
  size_t size = 0;    // bytes; 0: this is no frame
  unsigned kind = 0;  // what all frames of a recording share
  const Container* container = nullptr;
};

constexpr size_t kMpegHeaderSize = 6;

// `frame` has at least kMpegHeaderSize bytes.
MpegFrame ReadAdts(std::string_view frame) {
  const unsigned second = ByteAt(frame, 1), third = ByteAt(frame, 2), fourth = ByteAt(frame, 3);
  const unsigned rate_index = third >> 2 & 0xF;
  const size_t size = (fourth & 3U) << 11 | ByteAt(frame, 4) << 3 | ByteAt(frame, 5) >> 5;
  const size_t header_size = (second & 1U) != 0 ? 7 : 9;
  if (rate_index > 12 || size < header_size) return {};
  return {size, second << 8 | (third & 0xFD), &kAdts};
}

// ISO 11172-3 and 13818-3.
MpegFrame ReadMpegAudio(std::string_view frame) {
  const unsigned second = ByteAt(frame, 1), third = ByteAt(frame, 2);
  const unsigned version = second >> 3 & 3;  // 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5
  const unsigned layer = 4 - (second >> 1 & 3);
  const unsigned bitrate_index = third >> 4, rate_index = third >> 2 & 3;
  if (version == 1 || bitrate_index == 0 || bitrate_index == 15 || rate_index == 3) return {};
  constexpr std::array<std::array<size_t, 15>, 5> kKbps = {
      {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
       {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
       {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
       {0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
       {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}};
  constexpr std::array<size_t, 3> kRatesHz = {44100, 48000, 32000};
  const bool is_mpeg1 = version == 3;
  const size_t table = is_mpeg1 ? layer - 1 : (layer == 1 ? 3 : 4);
  const size_t bps = kKbps[table][bitrate_index] * 1000;
  const size_t rate_hz = kRatesHz[rate_index] / (is_mpeg1 ? 1 : (version == 2 ? 2 : 4));
  const size_t padding = third >> 1 & 1;
  const unsigned kind = (second & 0xFE) << 8 | (third & 0x0C);
  if (layer == 1) return {(12 * bps / rate_hz + padding) * 4, kind, &kMp3};
  const size_t samples = layer == 3 && !is_mpeg1 ? 576 : 1152;
  return {samples / 8 * bps / rate_hz + padding, kind, &kMp3};
}

MpegFrame ReadMpegFrame(std::string_view frame) {
  if (ByteAt(frame, 0) != 0xFF || (ByteAt(frame, 1) & 0xE0) != 0xE0) return {};
  if ((ByteAt(frame, 1) & 0xF6) == 0xF0) return ReadAdts(frame);
  if ((ByteAt(frame, 1) & 0x06) == 0) return {};
  return ReadMpegAudio(frame);
}

}  // namespace

ContainerMatch MatchContainer(std::string_view begin) {
  ContainerMatch best;
  for (const Signature& signature : kSignatures) {
    if (!Agree(begin, 0, signature.first) || !Agree(begin, signature.at, signature.then)) continue;
    if (begin.size() >= std::max(signature.first.size(), signature.at + signature.then.size())) {
      return {Match::kYes, signature.container};
    }
    best.match = Match::kMaybe;
  }
  return best;
}

ContainerMatch MatchMpegFrames(std::string_view begin, int num_frames) {
  MpegFrame first;
  for (int i = 0; i < num_frames; ++i) {
    if (!Agree(begin, 0, "\xFF")) return {};
    if (begin.size() < kMpegHeaderSize) return {Match::kMaybe, nullptr};
    const MpegFrame frame = ReadMpegFrame(begin);
    if (frame.size == 0 || (i > 0 && frame.kind != first.kind)) return {};
    if (i == 0) first = frame;
    begin.remove_prefix(std::min(frame.size, begin.size()));
  }
  return {Match::kYes, first.container};
}

size_t MpegFrameBytes(std::string_view begin) {
  return begin.size() < kMpegHeaderSize ? 0 : ReadMpegFrame(begin).size;
}

}  // namespace runnel
