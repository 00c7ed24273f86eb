// Beginnings of recordings, found among other bytes and nowhere else.
#include "frontend/media/recording_scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/media/container.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/audio_files.h"
#include "tests/support/shared_data.h"

namespace runnel {
namespace {

using testing::Chunk;
using testing::LittleEndianBytes;

std::string BigEndianBytes(uint64_t value, size_t size) {
  std::string bytes = LittleEndianBytes(value, size);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

std::string RandomBytes(size_t size, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t value = random();
    std::memcpy(&bytes[i], &value, sizeof(value));
  }
  return bytes;
}

// Frames of MPEG-1 layer III, 32 kbit/s at 32 kHz.
std::string Mp3Frames(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) {
    frames += "\xFF\xFB\x18\xC4" + RandomBytes(140, static_cast<unsigned>(i));
  }
  return frames;
}

// Frames of AAC at 16 kHz.
std::string AdtsFrames(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) {
    frames += std::string("\xFF\xF1\x60\x40\x0B\x7F\xFC", 7) +
              RandomBytes(84, static_cast<unsigned>(i)).substr(0, 84);
  }
  return frames;
}

std::string Tag(size_t size) {
  std::string tag("ID3\4\0\0", 6);
  for (const int shift : {21, 14, 7, 0}) tag.push_back(static_cast<char>(size >> shift & 0x7F));
  return tag + std::string(size, 'x');
}

// The first page of a stream.
std::string OggPage(const std::string& packet) {
  return std::string("OggS\0\2\0\0\0\0\0\0\0\0", 14) + std::string(12, 's') + '\1' +
         static_cast<char>(packet.size()) + packet;
}

std::string Vorbis() { return OggPage("\1vorbis" + std::string(23, '\0')); }
std::string Opus() { return OggPage("OpusHead" + std::string(11, '\0')); }

std::string FlacHead() {
  return std::string("fLaC\x80\0\0\x22", 8) + RandomBytes(40).substr(0, 34);
}

// An element of EBML, whose size has four bytes.
std::string Ebml(const std::string& id, const std::string& body) {
  return id + BigEndianBytes(0x10000000 | body.size(), 4) + body;
}

// A segment of unknown size, with a track and a block.
std::string Matroska(const std::string& codec, const std::string& private_data = "") {
  return "\x1A\x45\xDF\xA3\x9F\x42\x86\x81\x01\x42\xF7\x81\x01\x42\xF2\x81\x04\x42\xF3\x81\x08"
         "\x42\x82\x84webm\x42\x87\x81\x04\x42\x85\x81\x02\x18\x53\x80\x67\xFF" +
         Ebml("\x16\x54\xAE\x6B",
              Ebml("\xAE", "\x86" + std::string(1, static_cast<char>(0x80 | codec.size())) + codec +
                               Ebml("\x63\xA2", private_data))) +
         Ebml("\x1F\x43\xB6\x75", Ebml("\xA3", RandomBytes(64, 2)));
}

std::string Mp4() {
  return std::string("\0\0\0\x1C", 4) + "ftypisom" + std::string(16, ' ') +
         std::string("\0\0\0\x10moov12345678", 16);
}

std::string Au() {
  return ".snd" + BigEndianBytes(24, 4) + BigEndianBytes(0xFFFFFFFF, 4) + BigEndianBytes(3, 4) +
         BigEndianBytes(16000, 4) + BigEndianBytes(1, 4);
}

std::string RiffWav() { return "RIFF1234WAVE" + Chunk("fmt ", "0123456789abcdef"); }

struct Kind {
  std::string name;
  std::string begin;
};

std::vector<Kind> Kinds() {
  const std::string w64_id("\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\0\0", 12);
  return {{"a WAV file", RiffWav()},
          {"a WAV file", "RF64\xFF\xFF\xFF\xFFWAVEds64"},
          {"RIFX", "RIFX1234WAVEfmt "},
          {"W64", "riff" + w64_id + "12345678wave" + std::string(12, 'g') + "fmt "},
          {"FLAC", FlacHead()},
          {"AIFF", "FORM1234AIFFCOMM"},
          {"AIFF", "FORM1234AIFCFVER"},
          {"AU", Au()},
          {"CAF", std::string("caff\0\1\0\0desc", 12)},
          {"NIST SPHERE", "NIST_1A\n   1024\n"},
          {"VOC", "Creative Voice File\x1A"},
          {"Ogg Vorbis", Vorbis()},
          {"Ogg Opus", Opus()},
          {"Ogg FLAC", OggPage("\x7F"
                               "FLAC\1\0\0\1" +
                               FlacHead())},
          {"WebM or Matroska", Matroska("A_OPUS")},
          {"MP4", Mp4()},
          {"AMR", "#!AMR\n\x3C" + std::string(31, 'a')},
          {"AMR", "#!AMR-WB\n"},
          {"MP3", Tag(300) + Mp3Frames(3)},
          {"MP3", Tag(20) + Tag(40) + Mp3Frames(3)},
          {"MP3", Mp3Frames(9)},
          {"AAC (ADTS)", AdtsFrames(9)}};
}

struct Finding {
  std::string name;  // "": none
  uint64_t at = 0;

  bool operator==(const Finding& other) const { return name == other.name && at == other.at; }
};

void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.name << " at " << finding.at;
}

// `num_clear` must never be behind what is found by its first bytes.
Finding Find(const Container* first, std::string_view bytes, size_t piece) {
  RecordingScanner scanner(first);
  uint64_t num_clear = 0;
  for (size_t i = 0; i < bytes.size(); i += piece) {
    scanner.Push(bytes.substr(i, piece));
    EXPECT_GE(scanner.num_clear(), num_clear);
    EXPECT_LE(scanner.num_clear(), std::min(i + piece, bytes.size()));
    num_clear = scanner.num_clear();
  }
  if (scanner.found() == nullptr) return {};
  return {scanner.found()->name, scanner.found_at()};
}

TEST(RecordingScanner, FindsEveryKindAtEveryPlaceAndCut) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    for (const size_t before : {1U, 2U, 3U, 13U, 5000U}) {
      const std::string bytes =
          RandomBytes(5008).substr(0, before) + kind.begin + RandomBytes(3000);
      for (const size_t piece : {1U, 2U, 3U, 5U, 7U, 61U, 64U, 1000U, 100000U}) {
        ASSERT_EQ(Find(nullptr, bytes, piece), (Finding{kind.name, before})) << piece;
      }
    }
    // As the first of the input.
    if (kind.name != "MP3" && kind.name != "AAC (ADTS)") {
      const Container* const first = kind.name == "Ogg FLAC" ? &kOgg : nullptr;
      EXPECT_EQ(Find(first, kind.begin + RandomBytes(3000), 100), Finding());
    }
  }
}

TEST(RecordingScanner, FindsAlsoBetweenZeros) {
  for (const Kind& kind : Kinds()) {
    const std::string zeros(777, '\0');
    EXPECT_EQ(Find(nullptr, zeros + kind.begin + zeros, 10), (Finding{kind.name, 777}));
  }
}

TEST(RecordingScanner, ItsOwnKindIsReadOn) {
  const std::string noise = RandomBytes(2000);
  EXPECT_EQ(Find(&kMp3, Mp3Frames(20) + Tag(100) + Mp3Frames(20), 100), Finding());
  EXPECT_EQ(Find(&kAdts, AdtsFrames(20) + AdtsFrames(20), 100), Finding());
  EXPECT_EQ(Find(&kMp4, Mp4() + Mp4(), 100), Finding());
  EXPECT_EQ(Find(&kOgg, Opus() + noise + Opus() + noise, 100), Finding());
  EXPECT_EQ(Find(&kMatroska, Matroska("A_OPUS") + noise + Matroska("A_OPUS"), 100), Finding());
  // Another codec is not.
  const uint64_t second = Opus().size() + noise.size();
  EXPECT_EQ(Find(&kOgg, Opus() + noise + Vorbis() + noise, 100), (Finding{"Ogg Vorbis", second}));
  const std::string webm = Matroska("A_OPUS") + noise;
  EXPECT_EQ(Find(&kMatroska, webm + Matroska("A_VORBIS"), 100),
            (Finding{"WebM or Matroska", webm.size()}));
}

// Of a film, the first pages stand beside each other. Streams that are not audio do not count.
TEST(RecordingScanner, StreamsOfOggBesideEachOther) {
  const std::string noise = RandomBytes(2000);
  const std::string theora = OggPage("\x80theora" + std::string(30, 't'));
  const std::string film = theora + Vorbis() + Opus() + noise;
  EXPECT_EQ(Find(&kOgg, film + film, 100), Finding());
  EXPECT_EQ(Find(&kOgg, film + Vorbis() + noise, 100), Finding());
  EXPECT_EQ(Find(&kOgg, film + Opus() + noise, 100), (Finding{"Ogg Opus", film.size()}));
}

TEST(RecordingScanner, HeadersWithinOthersAreNotRecordings) {
  const std::string noise = RandomBytes(2000);
  const std::string ogg_flac = OggPage(
      "\x7F"
      "FLAC\1\0\0\1" +
      FlacHead());
  EXPECT_EQ(Find(&kOgg, ogg_flac + noise, 100), Finding());
  EXPECT_EQ(Find(&kMatroska, Matroska("A_FLAC", FlacHead()) + noise, 100), Finding());
  // The header of a WAV file that flac keeps: each part is a block of FLAC's.
  EXPECT_EQ(Find(&kFlac,
                 FlacHead() + std::string("\2\0\0\x10riffRIFF1234WAVE\2\0\0\x1Criff", 28) +
                     Chunk("fmt ", "0123456789abcdef") + noise,
                 100),
            Finding());
  // Tags alone.
  EXPECT_EQ(Find(nullptr, noise + Tag(500) + noise, 100), Finding());
  // MP3 within other containers.
  const std::string frames = Mp3Frames(100);
  const std::string mdat = BigEndianBytes(8 + frames.size(), 4) + "mdat" + frames;
  EXPECT_EQ(Find(&kMp4, Mp4() + mdat, 100), Finding());
  EXPECT_EQ(Find(&kMp4, Mp4() + mdat + frames, 100), (Finding{"MP3", Mp4().size() + mdat.size()}));
  EXPECT_EQ(Find(&kWav, RiffWav() + frames, 100), Finding());
}

// A page of Ogg behind the first.
std::string NextPage(const std::string& packet) {
  const std::string segments =
      std::string(packet.size() / 255, '\xFF') + static_cast<char>(packet.size() % 255);
  return std::string("OggS\0\0", 6) + std::string(20, 's') + static_cast<char>(segments.size()) +
         segments + packet;
}

std::string Box(const std::string& name, const std::string& body) {
  return BigEndianBytes(8 + body.size(), 4) + name + body;
}

std::string BigChunk(const std::string& name, const std::string& body) {
  return name + BigEndianBytes(body.size(), 4) + body;
}

// `begin` + the element that holds what `held` is + `end`.
struct Holder {
  const Container* first;
  std::string begin;
  std::function<std::string(const std::string& held)> element;
  std::string end;
};

std::vector<Holder> Holders() {
  const std::string ape("APETAGEX\xD0\x07\0\0\x40\x0C\0\0\1\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0",
                        32);  // 3136 bytes
  const auto id3 = [](const std::string& held) {
    const std::string tag = Tag(held.size());
    return tag.substr(0, tag.size() - held.size()) + held;
  };
  return {
      {&kFlac, FlacHead(),  // a picture
       [](const std::string& held) { return '\x06' + BigEndianBytes(held.size(), 3) + held; },
       "\xFF\xF8" + RandomBytes(200)},
      {&kMatroska, Matroska("A_OPUS"),  // an attachment
       [](const std::string& held) { return Ebml("\x19\x41\xA4\x69", held); }, ""},
      {&kMatroska, Matroska("A_MPEG/L3"),
       [](const std::string& held) {
         return Ebml("\x1F\x43\xB6\x75", Ebml("\xA3", "1234" + held) + Ebml("\xA3", held));
       },
       ""},
      {&kMp4, Mp4(), [](const std::string& held) { return Box("free", held); }, Box("mdat", "12")},
      {&kMp4, Mp4(), [](const std::string& held) { return Box("mdat", held); }, ""},
      {&kOgg, Opus(), NextPage, NextPage("12345678")},
      {&kWav, RiffWav(), [](const std::string& held) { return Chunk("id3 ", held); },
       Chunk("data", "1234")},
      {&kAiff, "",
       [](const std::string& held) { return BigChunk("FORM", "AIFF" + BigChunk("APPL", held)); },
       ""},
      {&kCaf, std::string("caff\0\1\0\0", 8) + "desc" + BigEndianBytes(4, 8) + "1234",
       [](const std::string& held) { return "uuid" + BigEndianBytes(held.size(), 8) + held; }, ""},
      {&kMp3, Mp3Frames(3), id3, Mp3Frames(3)},
      {&kMp3, Mp3Frames(3),
       [ape](const std::string& held) {
         return ape + (held + std::string(3136, ' ')).substr(0, 3136);
       },
       Mp3Frames(3)},
      {&kAdts, AdtsFrames(3), id3, AdtsFrames(3)}};
}

// Covers in AVIF or HEIC, attached files, frames of MP3 with an encoder's first frame.
TEST(RecordingScanner, NothingIsFoundInElements) {
  std::vector<Kind> held = Kinds();
  const std::string info = Mp3Frames(1).substr(0, 36) + "Info" + Mp3Frames(1).substr(40);
  held.push_back({"MP3", info + Mp3Frames(2)});
  for (const Holder& holder : Holders()) {
    for (const Kind& kind : held) {
      SCOPED_TRACE(std::string(holder.first->name) + " holds " + kind.name);
      const std::string bytes =
          holder.begin + holder.element(RandomBytes(40).substr(0, 40) + kind.begin) + holder.end;
      for (const size_t piece : {1U, 7U, 100U, 100000U}) {
        ASSERT_EQ(Find(holder.first, bytes, piece), Finding()) << piece;
      }
      // The end is found behind it.
      const std::string au = Au() + RandomBytes(200);
      ASSERT_EQ(Find(holder.first, bytes + au, 100), (Finding{"AU", bytes.size()}));
    }
  }
}

// The samples of WAV may have any length.
TEST(RecordingScanner, Mp3InWavBeginsWithTheFrameOfItsEncoder) {
  const std::string info = Mp3Frames(1).substr(0, 36) + "Info" + Mp3Frames(1).substr(40);
  EXPECT_EQ(Find(&kWav, RiffWav() + Chunk("data", info + Mp3Frames(2)), 100), Finding());
}

// A hundred megabytes each would be of one recording.
TEST(RecordingScanner, BytesOfSamplesAreNotRecordings) {
  constexpr size_t kBlock = 1 << 20;
  for (const Container* const first : {&kWav, static_cast<const Container*>(nullptr)}) {
    RecordingScanner scanner(first);
    for (unsigned i = 0; i < 60; ++i) {
      scanner.Push(RandomBytes(kBlock, i));
      ASSERT_EQ(scanner.found(), nullptr) << i;
    }
  }
  // Quiet noise of 16 bits and of mu-law, in which zeros are 0xFF.
  std::mt19937 random(1);
  std::string bytes(kBlock, '\0');
  for (int round = 0; round < 8; ++round) {
    RecordingScanner pcm(nullptr);
    RecordingScanner mulaw(nullptr);
    const int loudness = 1 << (2 * round % 13);
    for (size_t i = 0; i < bytes.size(); i += 2) {
      const int sample =
          static_cast<int>(random() % static_cast<unsigned>(2 * loudness)) - loudness;
      bytes[i] = static_cast<char>(sample);
      bytes[i + 1] = static_cast<char>(sample >> 8);
    }
    pcm.Push(bytes);
    for (char& byte : bytes) {
      const unsigned level = static_cast<unsigned>(random()) % (2U << round % 7);
      byte = static_cast<char>(0xFF - level / 2 - (level % 2) * 0x80);
    }
    mulaw.Push(bytes);
    EXPECT_EQ(pcm.found(), nullptr) << round;
    EXPECT_EQ(mulaw.found(), nullptr) << round;
  }
}

TEST(RecordingScanner, RealRecordingsAreOne) {
  RUNNEL_REQUIRE_SHARED_DATA("fsdd/recordings");
  int num_files = 0;
  for (const std::string folder : {"fsdd", "speech_en"}) {
    if (!std::filesystem::exists(SharedData(folder))) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SharedData(folder))) {
      if (entry.path().extension() != ".wav") continue;
      ASSERT_EQ(Complaint(entry.path().string()), "");
      ++num_files;
    }
  }
  EXPECT_GT(num_files, 1000);
}

// Each period of a tone may begin like a frame whose size is some periods.
TEST(RecordingScanner, TonesAreNotMpegAudio) {
  const std::string frame = Mp3Frames(1);
  std::string tone;
  for (int i = 0; i < 1000; ++i) tone += frame;
  EXPECT_EQ(Find(nullptr, "x" + tone, 1000), Finding());
}

// Many beginnings of frames that no frame follows take neither memory nor time.
TEST(RecordingScanner, ManyBeginnings) {
  for (const std::string begin : {"\xFF\xF1\x60\x43\xFF\xE0", "ID3\4\0\0\x7F\x7F\x7F\x7F", "RIFF",
                                  "OggS", "\x1A\x45\xDF\xA3", "fLaC", "ftyp", "A_"}) {
    std::string bytes = "x";
    while (bytes.size() < 1000000) bytes += begin;
    EXPECT_EQ(Find(nullptr, bytes, 4096), Finding());
    EXPECT_EQ(Find(&kMatroska, bytes, 4096), Finding());
  }
}

}  // namespace
}  // namespace runnel
