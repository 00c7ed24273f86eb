#include "frontend/media/container.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/media/wav_chunks.h"

namespace runnel {

const Container kWav = {"a WAV file", nullptr, true};
const Container kFlac = {"FLAC", "flac", true};
const Container kOgg = {"Ogg", "ogg", false};
const Container kOggOpus = {"Ogg Opus", "ogg", false};
const Container kOggVorbis = {"Ogg Vorbis", "ogg", false};
const Container kOggFlac = {"Ogg FLAC", "ogg", false};
const Container kMatroska = {"WebM or Matroska", "matroska", false};
const Container kMp4 = {"MP4", "mov", false};
const Container kMp3 = {"MP3", "mp3", false};
const Container kAdts = {"AAC (ADTS)", "aac", false};
const Container kAiff = {"AIFF", nullptr, true};
const Container kCaf = {"CAF", "caf", true};
const Container kAu = {"AU", nullptr, true};
const Container kW64 = {"W64", nullptr, true};
const Container kVoc = {"VOC", nullptr, true};
const Container kNist = {"NIST SPHERE", nullptr, true};
const Container kMpegTs = {"MPEG-TS", "mpegts", false};
const Container kAvi = {"AVI", "avi", false};
const Container kFlv = {"FLV", "flv", false};
const Container kAsf = {"ASF (WMA)", "asf", false};

namespace {

const Container kAmr = {"AMR", "amr", false};
const Container kRifx = {"RIFX", nullptr, true};
// A recorder that goes on, on a new connection, sends these.
const Container kMatroskaPart = {"WebM or Matroska without its beginning", nullptr, false};
const Container kMp4Part = {"fragments of MP4 without their beginning", nullptr, false};

// Compares as many bytes as there are.
bool Agree(std::string_view begin, size_t at, std::string_view expected) {
  if (begin.size() <= at) return true;
  const size_t size = std::min(begin.size() - at, expected.size());
  return begin.substr(at, size) == expected.substr(0, size);
}

unsigned ByteAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

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

// ---- Heads: what tells a recording that follows others, beyond its signature ----
//
// Each returns kYes, kNo, or kMaybe when `begin`, whose signature is complete, has too few bytes.

Match If(bool is_so) { return is_so ? Match::kYes : Match::kNo; }

Match IsSharp(std::string_view /*begin*/) { return Match::kYes; }

// A chunk with a printable name. FLAC files may hold the bytes of a WAV or AIFF header, but there a
// header of FLAC's own comes before the first chunk.
Match HasFirstChunk(std::string_view begin) {
  constexpr size_t kAt = 12;
  if (begin.size() < kAt + kChunkIdBytes) return Match::kMaybe;
  return If(IsChunkId(begin.substr(kAt, kChunkIdBytes)));
}

Match IsW64(std::string_view begin) {
  if (begin.size() < 44) return Match::kMaybe;
  return If(begin.substr(24, 4) == "wave" && IsChunkId(begin.substr(40, 4)));
}

// The first block is of 34 bytes, and may be the last.
Match IsFlac(std::string_view begin) {
  if (begin.size() < 8) return Match::kMaybe;
  return If((ByteAt(begin, 4) & 0x7F) == 0 &&
            begin.substr(5, 3) == std::string_view("\0\0\x22", 3));
}

// The offset of the samples, their size, encoding, rate and channels: 4 bytes each.
template <typename Field>
Match IsAu(std::string_view begin, const Field& field) {
  if (begin.size() < 24) return Match::kMaybe;
  const uint32_t offset = field(4), encoding = field(12), rate_hz = field(16), channels = field(20);
  return If(offset >= 24 && offset < 1 << 16 && encoding >= 1 && encoding < 32 && rate_hz >= 1000 &&
            rate_hz < 1 << 20 && channels >= 1 && channels < 256);
}

Match IsBigEndianAu(std::string_view begin) {
  return IsAu(begin,
              [begin](size_t at) { return static_cast<uint32_t>(BigEndian(begin.substr(at, 4))); });
}

Match IsLittleEndianAu(std::string_view begin) {
  return IsAu(begin, [begin](size_t at) {
    return static_cast<uint32_t>(LittleEndian(begin.substr(at, 4)));
  });
}

Match IsCaf(std::string_view begin) {
  if (begin.size() < 12) return Match::kMaybe;
  return If(begin.substr(4, 8) == std::string_view("\0\1\0\0desc", 8));
}

// A page that begins a stream, with one packet, which is at time 0.
constexpr size_t kOggNumSegmentsAt = 26;
constexpr size_t kOggMostSegments = 4;
constexpr size_t kOggMagicBytes = 8;
constexpr std::string_view kOggFlacMagic = "\x7F\x46LAC";
Match IsOgg(std::string_view begin) {
  if (begin.size() <= kOggNumSegmentsAt) return Match::kMaybe;
  const size_t num_segments = ByteAt(begin, kOggNumSegmentsAt);
  const bool is_first = begin.substr(4, 10) == std::string_view("\0\2\0\0\0\0\0\0\0\0", 10);
  if (!is_first || num_segments < 1 || num_segments > kOggMostSegments) return Match::kNo;
  return begin.size() < kOggNumSegmentsAt + 1 + num_segments + kOggMagicBytes ? Match::kMaybe
                                                                              : Match::kYes;
}

// Among the elements of the header.
Match IsMatroska(std::string_view begin) {
  const std::string_view head = begin.substr(0, kRecordingHeadBytes);
  const bool is_found = head.find("webm") != std::string_view::npos ||
                        head.find("matroska") != std::string_view::npos;
  if (is_found) return Match::kYes;
  return head.size() < kRecordingHeadBytes ? Match::kMaybe : Match::kNo;
}

// A box of four bytes and more, which begins with a brand.
Match IsMp4(std::string_view begin) {
  if (begin.size() < 12) return Match::kMaybe;
  return If(ByteAt(begin, 3) >= 16 && ByteAt(begin, 3) % 4 == 0 && IsChunkId(begin.substr(8, 4)));
}

// The length of the header.
Match IsFlv(std::string_view begin) {
  if (begin.size() < 9) return Match::kMaybe;
  return If(begin.substr(5, 4) == std::string_view("\0\0\0\x09", 4));
}

// "\n", of the narrow band, and a frame's header, or "-WB\n".
Match IsAmr(std::string_view begin) {
  if (begin.size() < 9) return Match::kMaybe;
  return If(begin.substr(5, 4) == "-WB\n" || (begin[5] == '\n' && (ByteAt(begin, 6) & 0x83) == 0));
}

// The bytes at the beginning and those from `at` on. `head` is null where a recording is not looked
// for behind others: MPEG audio is known by its frames, and the boxes of MP4 by the first.
struct Signature {
  std::string_view first;
  size_t at;
  std::string_view then;
  const Container* container;
  Match (*head)(std::string_view begin);
};
constexpr std::string_view kNone = "";
constexpr int kSureTsPackets = 4;
constexpr std::string_view kZero("\0", 1);  // of a size below 16 MiB
constexpr std::array<Signature, 28> kSignatures = {{
    {"RIFF", 8, "WAVE", &kWav, HasFirstChunk},
    {"RF64", 8, "WAVE", &kWav, HasFirstChunk},
    {"RIFX", 8, "WAVE", &kRifx, HasFirstChunk},
    {"riff\x2e\x91\xcf\x11", 0, kNone, &kW64, IsW64},
    {"fLaC", 0, kNone, &kFlac, IsFlac},
    {"OggS", 0, kNone, &kOgg, IsOgg},
    {"\x1A\x45\xDF\xA3", 0, kNone, &kMatroska, IsMatroska},
    {std::string_view("\0\0\0", 3), 4, "ftyp", &kMp4, IsMp4},
    {kZero, 4, "moov", &kMp4, nullptr},
    {kZero, 4, "mdat", &kMp4, nullptr},
    {std::string_view("\0\0\0\x08", 4), 4, "wide", &kMp4, nullptr},
    {"#!AMR", 0, kNone, &kAmr, IsAmr},
    {"ID3\2", 0, kNone, &kMp3, nullptr},
    {"ID3\3", 0, kNone, &kMp3, nullptr},
    {"ID3\4", 0, kNone, &kMp3, nullptr},
    {"FORM", 8, "AIFF", &kAiff, HasFirstChunk},
    {"FORM", 8, "AIFC", &kAiff, HasFirstChunk},
    {".snd", 0, kNone, &kAu, IsBigEndianAu},
    {"dns.", 0, kNone, &kAu, IsLittleEndianAu},
    {"caff", 0, kNone, &kCaf, IsCaf},
    {"NIST_1A\n", 0, kNone, &kNist, IsSharp},
    {"Creative Voice File\x1A", 0, kNone, &kVoc, IsSharp},
    {"\x30\x26\xB2\x75\x8E\x66\xCF\x11", 0, kNone, &kAsf, IsSharp},
    {"RIFF", 8, "AVI ", &kAvi, HasFirstChunk},
    {"FLV\1", 0, kNone, &kFlv, IsFlv},
    {"\x1F\x43\xB6\x75", 0, kNone, &kMatroskaPart, nullptr},
    {kZero, 4, "moof", &kMp4Part, nullptr},
    {kZero, 4, "styp", &kMp4Part, nullptr},
}};

Match MatchSignature(const Signature& signature, std::string_view begin) {
  if (!Agree(begin, 0, signature.first) || !Agree(begin, signature.at, signature.then)) {
    return Match::kNo;
  }
  const size_t size = std::max(signature.first.size(), signature.at + signature.then.size());
  return begin.size() < size ? Match::kMaybe : Match::kYes;
}

// `begin` is a whole head.
const Container* OggOfCodec(std::string_view begin) {
  begin.remove_prefix(kOggNumSegmentsAt + 1 + ByteAt(begin, kOggNumSegmentsAt));
  if (begin.substr(0, 8) == "OpusHead") return &kOggOpus;
  if (begin.substr(0, 7) == "\x01vorbis") return &kOggVorbis;
  if (begin.substr(0, kOggFlacMagic.size()) == kOggFlacMagic) return &kOggFlac;
  return &kOgg;
}

ContainerMatch MatchMpegFrames(std::string_view begin, int num_frames) {
  MpegFrame first;
  for (int i = 0; i < num_frames; ++i) {
    if (!Agree(begin, 0, "\xFF")) return {};
    if (begin.size() < kMpegHeaderBytes) return {Match::kMaybe, nullptr};
    const MpegFrame frame = ReadMpegFrame(begin);
    if (frame.size == 0 || (i > 0 && frame.kind != first.kind)) return {};
    if (i == 0) first = frame;
    begin.remove_prefix(std::min(frame.size, begin.size()));
  }
  return {Match::kYes, first.container};
}

// A packet of MPEG-TS begins so; three bits tell that it is damaged or empty.
bool IsTsPacket(std::string_view begin) {
  return Agree(begin, 0, "\x47") && (begin.size() < 2 || (ByteAt(begin, 1) & 0x80) == 0) &&
         (begin.size() < 4 || (ByteAt(begin, 3) & 0x30) != 0);
}

// Packets of `size` bytes, of which the first `at` are before each packet of MPEG-TS.
Match MatchTsPackets(std::string_view begin, size_t size, size_t at) {
  constexpr size_t kHeadBytes = 4;
  for (int i = 0; i < kSureTsPackets; ++i, at += size) {
    if (begin.size() > at && !IsTsPacket(begin.substr(at))) return Match::kNo;
    if (begin.size() < at + kHeadBytes) return at == 0 || i > 0 ? Match::kMaybe : Match::kNo;
  }
  return Match::kYes;
}

// Plain packets, those of camcorders and discs, with a time before each, and those of broadcasts,
// with bytes that correct errors.
ContainerMatch MatchMpegTs(std::string_view begin) {
  ContainerMatch best;
  for (const auto& [size, at] : {std::pair<size_t, size_t>{188, 0}, {192, 4}, {204, 0}}) {
    const Match match = MatchTsPackets(begin, size, at);
    if (match == Match::kYes) return {match, &kMpegTs};
    if (match == Match::kMaybe) best.match = match;
  }
  return best;
}

}  // namespace

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value = value << 8 | ByteAt(bytes, i);
  return value;
}

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | ByteAt(bytes, i - 1);
  return value;
}

ContainerMatch MatchContainer(std::string_view begin, int num_frames) {
  ContainerMatch best;
  for (const Signature& signature : kSignatures) {
    const Match match = MatchSignature(signature, begin);
    if (match == Match::kYes) return {match, signature.container};
    if (match == Match::kMaybe) best.match = match;
  }
  if (best.match == Match::kNo) best = MatchMpegFrames(begin, num_frames);
  return best.match == Match::kNo ? MatchMpegTs(begin) : best;
}

ContainerMatch MatchRecording(std::string_view begin) {
  ContainerMatch best;
  for (const Signature& signature : kSignatures) {
    if (signature.head == nullptr) continue;
    Match match = MatchSignature(signature, begin);
    if (match == Match::kYes) match = signature.head(begin);
    if (match == Match::kMaybe) best.match = match;
    if (match != Match::kYes) continue;
    if (signature.container == &kOgg) return {match, OggOfCodec(begin)};
    return {match, signature.container};
  }
  return best;
}

MpegFrame ReadMpegFrame(std::string_view frame) {
  if (ByteAt(frame, 0) != 0xFF || (ByteAt(frame, 1) & 0xE0) != 0xE0) return {};
  if ((ByteAt(frame, 1) & 0xF6) == 0xF0) return ReadAdts(frame);
  if ((ByteAt(frame, 1) & 0x06) == 0) return {};
  return ReadMpegAudio(frame);
}

std::optional<size_t> FindMpegAudio(std::string_view bytes) {
  for (size_t at = bytes.find('\xFF'); at < kMostJunkBytes; at = bytes.find('\xFF', at + 1)) {
    const ContainerMatch match = MatchMpegFrames(bytes.substr(at), kSureMpegFrames);
    if (match.match == Match::kYes) return at;
  }
  return std::nullopt;
}

uint64_t Id3TagBytes(std::string_view begin) {
  constexpr unsigned kHasFooter = 0x10;  // a flag of version 4: a copy of the header at the end
  const unsigned version = ByteAt(begin, 3);
  if (begin.substr(0, 3) != "ID3" || version < 2 || version > 4) return 0;
  uint64_t size = 0;
  for (size_t i = 6; i < kId3HeaderBytes; ++i) size = size << 7 | (ByteAt(begin, i) & 0x7F);
  const bool has_footer = version == 4 && (ByteAt(begin, 5) & kHasFooter) != 0;
  return kId3HeaderBytes + size + (has_footer ? kId3HeaderBytes : 0);
}

size_t MpegFrameBytes(std::string_view begin) {
  return begin.size() < kMpegHeaderBytes ? 0 : ReadMpegFrame(begin).size;
}

}  // namespace runnel
