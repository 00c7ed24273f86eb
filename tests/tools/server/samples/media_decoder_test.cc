// Audio that comes as bytes cut anywhere: raw samples, WAV, Ogg Opus, and the choice between them.
#include "tools/server/samples/media_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/ogg_file.h"
#include "tests/support/opus_packets.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/cli/g711.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/ogg_opus_decoder.h"
#include "tools/server/samples/raw_media_decoder.h"
#include "tools/server/samples/sniffing_decoder.h"
#include "tools/server/samples/wav_decoder.h"

namespace runnel::server {
namespace {

using runnel::testing::BestCorrelation;
using runnel::testing::Chirp;
using runnel::testing::DecodedByLibopus;
using runnel::testing::Head;
using runnel::testing::Little;
using runnel::testing::Ogg;
using runnel::testing::OggStream;
using runnel::testing::OpusPackets;
using testing::Float32;
using testing::Pcm16;

std::string Chunk(const std::string& name, const std::string& content) {
  return name + Little(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

struct WavFormat {
  unsigned tag = 1;
  unsigned channels = 1;
  unsigned rate_hz = 8000;
  unsigned bits = 16;
};

std::string FormatFields(const WavFormat& format) {
  const unsigned frame_size = format.channels * format.bits / 8;
  return Little(format.tag, 2) + Little(format.channels, 2) + Little(format.rate_hz, 4) +
         Little(format.rate_hz * frame_size, 4) + Little(frame_size, 2) + Little(format.bits, 2);
}

// `chunks`: all of the file.
std::string Wav(const std::string& chunks) {
  return "RIFF" + Little(4 + chunks.size(), 4) + "WAVE" + chunks;
}

std::string Wav(const WavFormat& format, const std::string& data) {
  return Wav(Chunk("fmt ", FormatFields(format)) + Chunk("data", data));
}

std::vector<std::string> Packets(int rate_hz, int channels = 1) {
  const std::vector<float> mono = Chirp(static_cast<size_t>(rate_hz), rate_hz);
  std::vector<float> samples;
  for (const float sample : mono)
    samples.insert(samples.end(), static_cast<size_t>(channels), sample);
  return OpusPackets(samples, rate_hz, channels, 20);
}

std::unique_ptr<MediaDecoder> Sniffing() { return std::make_unique<SniffingDecoder>(nullptr); }

struct Decoded {
  int rate_hz = 0;
  std::vector<float> samples;
};

// `next_size` gives the size of the next piece.
template <typename NextSize>
Decoded DecodePieces(MediaDecoder* decoder, std::string_view bytes, NextSize next_size) {
  Decoded decoded;
  while (!bytes.empty() || decoder->has_more()) {
    const size_t size = bytes.empty() ? 0 : std::min<size_t>(next_size(), bytes.size());
    const std::vector<float> samples = decoder->Decode(bytes.substr(0, size));
    EXPECT_TRUE(decoder->sample_rate_hz() > 0 || samples.empty());
    decoded.samples.insert(decoded.samples.end(), samples.begin(), samples.end());
    bytes.remove_prefix(size);
  }
  std::vector<float> last = decoder->Finish();
  for (;;) {
    decoded.samples.insert(decoded.samples.end(), last.begin(), last.end());
    if (!decoder->has_more()) break;
    last = decoder->Decode({});
  }
  decoded.rate_hz = decoder->sample_rate_hz();
  return decoded;
}

Decoded DecodeAll(MediaDecoder* decoder, std::string_view bytes) {
  return DecodePieces(decoder, bytes, [&] { return bytes.size(); });
}

// What is wrong with the bytes, or "".
std::string Mistake(MediaDecoder* decoder, std::string_view bytes) {
  try {
    decoder->Decode(bytes);
    decoder->Finish();
  } catch (const ClientMistake& mistake) {
    EXPECT_EQ(mistake.code(), ErrorCode::kBadMessage);
    return mistake.what();
  }
  return "";
}

TEST(RawMediaDecoder, ChannelsAreMixed) {
  RawMediaDecoder decoder(SampleEncoding::kFloat32, 8000, 2);
  EXPECT_EQ(decoder.sample_rate_hz(), 8000);
  const std::string bytes = Float32({0.5F, -0.25F, 1, 0, 0.125F});
  EXPECT_EQ(DecodePieces(&decoder, bytes, [] { return size_t{3}; }).samples,
            (std::vector<float>{0.125F, 0.5F}));
  EXPECT_EQ(decoder.Decode(Float32({0.375F})), std::vector<float>{0.25F});
}

TEST(RawMediaDecoder, OpusPackets) {
  const std::vector<std::string> packets = Packets(16000);
  RawMediaDecoder decoder(SampleEncoding::kOpus, 16000, 1);
  std::vector<float> samples;
  for (const std::string& packet : packets) {
    const std::vector<float> decoded = decoder.Decode(packet);
    samples.insert(samples.end(), decoded.begin(), decoded.end());
  }
  EXPECT_EQ(samples, DecodedByLibopus(packets, 16000, 0));
}

TEST(WavDecoder, EveryEncoding) {
  const std::vector<float> samples = {0.5F, -0.25F, 0.125F};
  const std::string g711("\x00\x55\xFF", 3);
  std::vector<float> mulaw;
  std::vector<float> alaw;
  for (const char c : g711) {
    mulaw.push_back(kMulaw.Decode(static_cast<uint8_t>(c)));
    alaw.push_back(kAlaw.Decode(static_cast<uint8_t>(c)));
  }
  struct Case {
    WavFormat format;
    std::string data;
    std::vector<float> expected;
  };
  for (const Case& c :
       std::vector<Case>{{{1, 1, 16000, 16}, Pcm16({16384, -8192, 4096}), samples},
                         {{3, 1, 48000, 32}, Float32(samples), samples},
                         {{6, 1, 8000, 8}, g711, alaw},
                         {{7, 1, 8000, 8}, g711, mulaw},
                         {{1, 2, 44100, 16}, Pcm16({16384, 16384, 0, -16384, 0, 8192}), samples}}) {
    WavDecoder decoder;
    const Decoded decoded = DecodeAll(&decoder, Wav(c.format, c.data));
    EXPECT_EQ(decoded.rate_hz, static_cast<int>(c.format.rate_hz));
    EXPECT_EQ(decoded.samples, c.expected) << "format " << c.format.tag;
  }
}

TEST(WavDecoder, OtherChunksAndLengths) {
  const std::string format = Chunk("fmt ", FormatFields({}));
  const std::string data = Pcm16({16384, -16384});
  const std::string list = Chunk("LIST", "odd");
  const std::string extensible = FormatFields({0xFFFE, 1, 8000, 16}) + Little(22, 2) +
                                 Little(16, 2) + Little(4, 4) + Little(1, 2) + std::string(14, 'x');
  for (const std::string& file :
       {Wav(list + format + list + Chunk("fact", "") + Chunk("data", data)),
        Wav(format + Chunk("data", data) + list), Wav(format + "data" + Little(0, 4) + data),
        Wav(format + "data" + Little(0x7FFFF000, 4) + data),
        Wav(format + Chunk("data", data) + std::string(1000, '\0')),
        Wav(format + "data" + Little(0xFFFFFFFF, 4) + data),
        Wav(format + "data" + Little(4000, 4) + data),  // cut off
        Wav(Chunk("fmt ", extensible) + Chunk("data", data)),
        Wav(Chunk("fmt ", FormatFields({}) + Little(0, 2)) + Chunk("data", data))}) {
    WavDecoder decoder;
    EXPECT_EQ(DecodeAll(&decoder, file).samples, (std::vector<float>{0.5F, -0.5F}));
  }
}

TEST(WavDecoder, Mistakes) {
  const auto with_format = [](const WavFormat& format) { return Wav(format, Pcm16({1})); };
  std::string odd_frame = with_format({});
  odd_frame[32] = 3;
  const std::string format = Chunk("fmt ", FormatFields({}));
  struct Case {
    std::string file;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{
           {"RIFF1234AVI 12345678", "expected RIFF and WAVE"},
           {Wav(Chunk("data", "ab")), "the data comes before the format"},
           {Wav(format + format), "a second chunk 'fmt '"},
           {Wav(Chunk("fmt ", "short")), "a format of 5 bytes, expected 16 to 1024"},
           {with_format({1, 1, 8000, 24}),
            "format 1 with 24 bits, expected PCM of 16 bits, float of 32 bits, A-law or mu-law"},
           {with_format({85, 1, 8000, 0}),
            "format 85 (MP3) with 0 bits, expected PCM of 16 bits, float of 32 bits, A-law or "
            "mu-law"},
           {with_format({0x28F, 1, 16000, 4}),
            "format 655 (G.722) with 4 bits, expected PCM of 16 bits, float of 32 bits, A-law or "
            "mu-law"},
           {with_format({1, 0, 8000, 16}), "0 channels, expected 1 to 32"},
           {with_format({1, 33, 8000, 16}), "33 channels, expected 1 to 32"},
           {with_format({1, 1, 999, 16}), "a rate of 999 Hz, expected 1000 to 768000"},
           {odd_frame, "3 bytes for the samples of an instant, expected 2"}}) {
    WavDecoder decoder;
    EXPECT_EQ(Mistake(&decoder, c.file), "the WAV header: " + c.expected);
  }
}

// How the bytes of a stream end: the samples so far, and what is wrong.
struct Outcome {
  std::vector<float> samples;
  std::string mistake;
};

Outcome DecodeInPieces(std::string_view bytes, size_t size) {
  const std::unique_ptr<MediaDecoder> decoder = Sniffing();
  Outcome outcome;
  const auto append = [&outcome](const std::vector<float>& samples) {
    outcome.samples.insert(outcome.samples.end(), samples.begin(), samples.end());
  };
  try {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
      append(decoder->Decode(bytes.substr(0, size)));
    }
    append(decoder->Finish());
  } catch (const ClientMistake& mistake) {
    outcome.mistake = mistake.what();
  }
  return outcome;
}

std::string WavOfSize(const WavFormat& format, uint32_t announced, const std::string& data) {
  return Wav(Chunk("fmt ", FormatFields(format)) + "data" + Little(announced, 4) + data);
}

// Clients that send a file for each blob of a recording, or for each utterance.
TEST(WavDecoder, FilesAfterEachOther) {
  const std::string data = Pcm16({16384, -16384, 8192});
  const std::vector<float> once = {0.5F, -0.5F, 0.25F};
  std::vector<float> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  const std::string list = Chunk("LIST", "odd");
  // The third is cut off.
  for (const uint32_t announced : {6U, 0U, 4000U, 0x7FFFFFF0U, 0xFFFFFFFFU}) {
    const std::string file = WavOfSize({}, announced, data);
    for (size_t size = 1; size <= 60; ++size) {
      const Outcome outcome = DecodeInPieces(file + file, size);
      ASSERT_EQ(outcome.mistake, "");
      ASSERT_EQ(outcome.samples, twice) << announced << ", in pieces of " << size;
    }
  }
  const std::string file = Wav({}, data);
  for (const std::string& between :
       {list, std::string(3001, '\0'), Chunk("mine", "1234"), Chunk("data", ""),
        "TAGtitle" + std::string(120, '\0'), std::string("ID3\4\0\0\0\0\0\7", 10) + "a title",
        list + std::string(2, '\0') + Chunk("mine", std::string(5001, '\1')) + list}) {
    for (const size_t size : {1U, 2U, 7U, 100U, 100000U}) {
      const Outcome outcome = DecodeInPieces(file + between + file + between, size);
      EXPECT_EQ(outcome.mistake, "") << size;
      EXPECT_EQ(outcome.samples, twice) << size;
    }
  }
  EXPECT_EQ(DecodeInPieces(Wav({}, "") + file + Wav({}, "") + file, 7).samples, twice);
  // Bytes of G.711, an odd number.
  const std::string odd = Wav({7, 1, 8000, 8}, "abc");
  EXPECT_EQ(DecodeInPieces(odd + odd, 5).samples.size(), 6U);
}

TEST(WavDecoder, NothingBehindTheSamplesIsPassedOver) {
  const std::string file = Wav({}, Pcm16({16384, -16384}));
  struct Case {
    std::string behind;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{
           {Pcm16({1, 2, 3, 4}), "'\\x01\\x00\\x02\\x00' behind the samples"},
           {"some text", "'some' behind the samples"},
           {"text", "4 bytes behind the samples"},
           {Chunk("data", Pcm16({1})), "'data' behind the samples"},
           {Chunk("LIST", "list") + "OggS....", "another recording (Ogg) behind the samples"},
           {std::string(3, '\0') + "fLaC", "another recording (FLAC) behind the samples"},
           {std::string("\0\0\0\x1C"
                        "ftypisom",
                        12),
            "another recording (MP4) behind the samples"},
           {"mine" + Little(5000, 4) + "cut off", "15 bytes behind the samples"},
           {"mine" + Little(50000000, 4) + "cut off", "'mine' behind the samples"},
           {Wav({1, 1, 16000, 16}, Pcm16({1})),
            "another file of 16000 Hz, 1 channels, pcm16, expected 8000 Hz, 1 channels, pcm16 as "
            "in "
            "the first"},
           {Wav({7, 1, 8000, 8}, "ab"),
            "another file of 8000 Hz, 1 channels, mulaw, expected 8000 Hz, 1 channels, pcm16 as in "
            "the first"}}) {
    const std::string expected = DecodeInPieces(file + c.behind, 1000).mistake;
    EXPECT_EQ(expected.find("the WAV audio: " + c.expected), 0U) << expected;
    for (const size_t size : {1U, 2U, 3U, 5U, 45U}) {
      EXPECT_EQ(DecodeInPieces(file + c.behind, size).mistake, expected) << size;
    }
  }
}

// Whether the size of the samples is known or not.
TEST(WavDecoder, OtherRecordingsAmongTheSamples) {
  OggStream ogg;
  ogg.packets = Packets(16000);
  const std::string caf("caff\0\1\0\0desc", 12);
  const std::string data = Pcm16(std::vector<int16_t>(500, 1000));
  for (const uint32_t announced : {1000U, 0U, 40000U, 0xFFFFFFFFU}) {
    for (const auto& [name, other] : std::vector<std::pair<std::string, std::string>>{
             {announced == 1000 ? "Ogg" : "Ogg Opus", Ogg(ogg)}, {"CAF", caf + data}}) {
      const std::string file = WavOfSize({}, announced, data) + other;
      for (const size_t size : {1U, 2U, 3U, 11U, 64U, 1000U, 100000U}) {
        EXPECT_EQ(DecodeInPieces(file, size).mistake,
                  "the WAV audio: another recording (" + name +
                      ") behind the samples, expected a chunk or another WAV file")
            << announced << ", in pieces of " << size;
      }
    }
  }
}

TEST(WavDecoder, ChunksWithoutPadding) {
  const std::string odd = "LIST" + Little(3, 4) + "abc";
  const std::string file =
      Wav(Chunk("fmt ", FormatFields({})) + odd + odd + Chunk("data", Pcm16({16384})));
  for (const size_t size : {1U, 2U, 3U, 1000U}) {
    EXPECT_EQ(DecodeInPieces(file, size).samples, std::vector<float>{0.5F});
  }
}

TEST(OggOpusDecoder, EveryRateWithoutThePreSkip) {
  for (const int rate_hz : kOpusRatesHz) {
    const std::vector<std::string> packets = Packets(rate_hz);
    std::vector<float> expected = DecodedByLibopus(packets, rate_hz, 0);
    expected.erase(expected.begin(), expected.begin() + 312 * rate_hz / 48000);
    OggOpusDecoder decoder;
    OggStream stream;
    stream.packets = packets;
    stream.rate_hz = static_cast<uint32_t>(rate_hz);
    const Decoded decoded = DecodeAll(&decoder, Ogg(stream));
    EXPECT_EQ(decoded.rate_hz, rate_hz);
    EXPECT_EQ(decoded.samples, expected);
  }
}

TEST(OggOpusDecoder, TheRateFollowsTheRecording) {
  struct Case {
    uint32_t recorded_hz;
    int expected_hz;
  };
  for (const Case& c :
       {Case{0, 48000}, Case{11025, 12000}, Case{44100, 48000}, Case{96000, 48000}}) {
    OggOpusDecoder decoder;
    OggStream stream;
    stream.packets = Packets(16000);
    stream.rate_hz = c.recorded_hz;
    EXPECT_EQ(DecodeAll(&decoder, Ogg(stream)).rate_hz, c.expected_hz);
  }
}

TEST(OggOpusDecoder, TheLastPageSaysWhereTheRecordingEnds) {
  OggStream stream;
  stream.packets = Packets(16000);
  const auto num_samples = [&](int64_t end_granule) {
    stream.end_granule = end_granule;
    OggOpusDecoder decoder;
    return DecodeAll(&decoder, Ogg(stream)).samples.size();
  };
  EXPECT_EQ(num_samples(0), 16000U - 104);
  EXPECT_EQ(num_samples(48000 - 300), 16000U - 104 - 100);
  EXPECT_EQ(num_samples(1000000), 16000U - 104);  // the stream began elsewhere
}

TEST(OggOpusDecoder, StereoAndGain) {
  OggStream stream;
  stream.packets = Packets(16000, 2);
  stream.channels = 2;
  OggOpusDecoder plain;
  const std::vector<float> samples = DecodeAll(&plain, Ogg(stream)).samples;
  EXPECT_EQ(samples.size(), 16000U - 104);
  EXPECT_GT(BestCorrelation(Chirp(16000, 16000), samples, 16000), 0.95);
  stream.gain = -1541;  // -6.02 dB
  OggOpusDecoder quiet;
  const std::vector<float> half = DecodeAll(&quiet, Ogg(stream)).samples;
  ASSERT_EQ(half.size(), samples.size());
  for (size_t i = 0; i < half.size(); ++i) {
    ASSERT_LT(std::abs(half[i] - samples[i] / 2), 1e-4F);
  }
}

TEST(OggOpusDecoder, StreamsOfAChain) {
  OggStream first;
  first.packets = Packets(16000);
  OggStream second = first;
  second.serial = 8;
  second.rate_hz = 48000;
  OggOpusDecoder decoder;
  const Decoded decoded = DecodeAll(&decoder, Ogg(first) + Ogg(second));
  EXPECT_EQ(decoded.rate_hz, 16000);
  EXPECT_EQ(decoded.samples.size(), 2 * (16000U - 104));
  const std::vector<float> begin(decoded.samples.begin(), decoded.samples.begin() + 15896);
  const std::vector<float> end(decoded.samples.begin() + 15896, decoded.samples.end());
  EXPECT_EQ(begin, end);
}

// Packets of one byte, which are 60 ms of silence each: a small piece holds ten minutes.
TEST(OggOpusDecoder, ASmallPieceOfMuchAudioIsDecodedInParts) {
  OggStream stream;
  stream.packets.assign(10000, "\x18");
  stream.rate_hz = 48000;
  stream.packet_granules = 2880;
  const std::string file = Ogg(stream);
  ASSERT_LT(file.size(), size_t{65536});
  OggOpusDecoder decoder;
  constexpr size_t kPacket = 2880;  // samples
  size_t num_samples = 0;
  size_t num_parts = 0;
  std::string_view piece = file;
  do {
    const size_t size = decoder.Decode(piece).size();
    EXPECT_LE(size, OggOpusDecoder::kMostSamples + kPacket);
    num_samples += size;
    ++num_parts;
    piece = "";
  } while (decoder.has_more());
  EXPECT_EQ(num_samples, 10000 * kPacket - 312);
  EXPECT_GT(num_parts, 20U);
}

TEST(OggOpusDecoder, Mistakes) {
  OggStream stream;
  stream.packets = Packets(16000);
  const std::string head = Head(stream);
  std::string version = head;
  version[8] = 16;
  std::string family = head;
  family[18] = 1;
  std::string channels = head;
  channels[9] = 3;
  const std::string good = Ogg(stream);
  std::string damaged = good;
  damaged[good.size() - 1] = static_cast<char>(damaged[good.size() - 1] ^ 1);
  struct Case {
    std::string file;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{
           {Ogg(stream, "\x01vorbis"),
            "the stream is not Opus, expected OpusHead in the first packet"},
           {Ogg(stream, head.substr(0, 18)), "a header of 18 bytes"},
           {Ogg(stream, version), "version 16, expected 1"},
           {Ogg(stream, family),
            "1 channels with mapping family 1, expected mono or stereo with family 0"},
           {Ogg(stream, channels),
            "3 channels with mapping family 0, expected mono or stereo with family 0"},
           {good + "no page at all, but many bytes",
            "bytes that are no Ogg page, or a damaged one"},
           {damaged + good, "bytes that are no Ogg page, or a damaged one"}}) {
    OggOpusDecoder decoder;
    EXPECT_EQ(Mistake(&decoder, c.file), "the Ogg Opus audio: " + c.expected);
  }
}

// Frames of MPEG-1 layer III, 32 kbit/s at 32 kHz.
std::string MpegFrames(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) frames += "\xFF\xFB\x18\xC4" + std::string(140, 'x');
  return frames;
}

// Of the decoders that need no process of their own. WavDecoder has tests of its own.
TEST(SniffingDecoder, OtherRecordingsBehindTheFirst) {
  OggStream stream;
  stream.packets = Packets(16000);
  const std::string ogg = Ogg(stream);
  const std::string wav = Wav({}, Pcm16(std::vector<int16_t>(500, 1000)));
  OggStream other = stream;
  other.serial = 8;
  const std::string vorbis = Ogg(other, "\x01vorbis" + std::string(23, '\0'));
  for (const auto& [name, second] : std::vector<std::pair<std::string, std::string>>{
           {"a WAV file", wav}, {"Ogg Vorbis", vorbis}}) {
    for (const size_t size : {1U, 2U, 3U, 11U, 64U, 1000U, 100000U}) {
      const Outcome outcome = DecodeInPieces(ogg + second, size);
      EXPECT_EQ(outcome.mistake, "the audio is Ogg and is followed by another recording (" + name +
                                     "), expected one")
          << "in pieces of " << size;
    }
  }
}

TEST(SniffingDecoder, EndsBeforeItsFormatIsKnown) {
  for (const std::string begin : {"RIF", "RIFF1234WAV", "OggS"}) {
    EXPECT_EQ(Mistake(Sniffing().get(), begin), "the audio ends within its header");
  }
  EXPECT_EQ(Mistake(Sniffing().get(), ""), "");
}

// Gives out many samples for few bytes.
class ManySamplesDecoder : public MediaDecoder {
 public:
  static constexpr size_t kNumBlocks = 5;

  std::vector<float> Decode(std::string_view piece) override {
    EXPECT_TRUE(piece.empty() || num_left_ == 0);
    num_left_ = piece.empty() ? num_left_ - 1 : kNumBlocks - 1;
    return {0.5F};
  }
  std::vector<float> Finish() override {
    EXPECT_EQ(num_left_, 0U);
    num_left_ = kNumBlocks - 1;
    return {0.25F};
  }
  bool has_more() const override { return num_left_ > 0; }
  int sample_rate_hz() const override { return 8000; }

 private:
  size_t num_left_ = 0;
};

TEST(SniffingDecoder, SamplesOfTheLastBytesComeInBlocks) {
  SniffingDecoder decoder(std::make_unique<ManySamplesDecoder>());
  EXPECT_TRUE(decoder.Decode("RI").empty());  // what may begin a recording waits for the end
  ASSERT_FALSE(decoder.has_more());
  std::vector<float> samples = decoder.Finish();
  EXPECT_EQ(samples.size(), 1U);
  while (decoder.has_more()) {
    const std::vector<float> block = decoder.Decode({});
    ASSERT_EQ(block.size(), 1U);
    samples.insert(samples.end(), block.begin(), block.end());
  }
  EXPECT_FALSE(decoder.has_more());
  EXPECT_EQ(samples.size(), 2 * ManySamplesDecoder::kNumBlocks);
}

// A caller may first ask for a place for the process.
TEST(SniffingDecoder, StartsNoProcessBeforeItIsKnownToNeedOne) {
  ::setenv("RUNNEL_MEDIA_DECODER", "/nonexistent", 1);
  const auto decoder = Sniffing();
  EXPECT_FALSE(decoder->uses_process());
  EXPECT_TRUE(decoder->Decode("fLaC and so on").empty());
  EXPECT_TRUE(decoder->uses_process());
  EXPECT_TRUE(decoder->has_more());
  EXPECT_THROW(decoder->Decode(""), ClientMistake);
  ::unsetenv("RUNNEL_MEDIA_DECODER");
}

TEST(SniffingDecoder, GivesOpusOfMappingFamily1ToAProcess) {
  OggStream stream;
  stream.packets = Packets(16000);
  std::string head = Head(stream);
  for (const int family : {0, 1}) {
    head[18] = static_cast<char>(family);
    const auto decoder = Sniffing();
    decoder->Decode(Ogg(stream, head));
    EXPECT_EQ(decoder->uses_process(), family == 1);
  }
}

// The connection may cut the audio anywhere.
TEST(SniffingDecoder, AnyCutGivesTheSameSamples) {
  OggStream stream;
  stream.packets = Packets(16000);
  std::vector<int16_t> integers(300);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int16_t& integer : integers) integer = static_cast<int16_t>(random());
  const std::string raw = Pcm16(integers);
  for (const std::string& bytes :
       {Wav({1, 2, 16000, 16}, raw), Ogg(stream), raw, "RIFF" + raw, "Oggx" + raw,
        MpegFrames(1) + raw, std::string("ID3"), std::string("RI")}) {
    const auto make = [] {
      return std::make_unique<SniffingDecoder>(
          std::make_unique<RawMediaDecoder>(SampleEncoding::kPcm16, 8000, 1));
    };
    const Decoded whole = DecodeAll(make().get(), bytes);
    EXPECT_GT(whole.samples.size(), bytes.size() < 10 ? 0U : 100U);
    for (int round = 0; round < 20; ++round) {
      const size_t largest = round == 0 ? 1 : 1 + random() % 200;
      const Decoded cut = DecodePieces(make().get(), bytes, [&] { return 1 + random() % largest; });
      ASSERT_EQ(cut.rate_hz, whole.rate_hz);
      ASSERT_EQ(cut.samples, whole.samples) << "pieces of up to " << largest;
    }
  }
}

TEST(SniffingDecoder, NamesOtherFormats) {
  struct Case {
    std::string begin;
    std::string name;
  };
  for (const Case& c : std::vector<Case>{{"FORM1234AIFF", "AIFF"},
                                         {"RIFX1234WAVE", "RIFX"},
                                         {"RF64\xFF\xFF\xFF\xFFWAVEds64", "RF64"},
                                         {"x", "in no known format"}}) {
    EXPECT_EQ(Mistake(Sniffing().get(), c.begin),
              "the audio is " + c.name +
                  ", expected WAV, Ogg Opus, WebM, MP4, MP3, FLAC, AAC, AMR, MPEG-TS, AVI, FLV, "
                  "WMA or CAF, "
                  "or an encoding and a "
                  "sample_rate in the query");
  }
}

// Samples that go to a decoder of samples alone, as in most protocols.
TEST(RawMediaDecoder, FilesAreRefusedByName) {
  struct Case {
    std::string begin;
    std::string name;
  };
  const std::string adts(
      "\xFF\xF1\x60\x40\x01\x7F\xFC"
      "abcd",
      11);
  for (const Case& c :
       std::vector<Case>{{Wav({1, 1, 8000, 16}, Pcm16({1, 2, 3})), "a WAV file of 8000 Hz"},
                         {"RIFF1234WAVEJUNK" + std::string(20, 'x'), "a WAV file"},
                         {"fLaC and so on", "FLAC"},
                         {"OggS", "Ogg"},
                         {"\x1A\x45\xDF\xA3", "WebM or Matroska"},
                         {std::string("\0\0\0\x1C", 4) + "ftypmp42", "MP4"},
                         {"ID3\4", "MP3"},
                         {MpegFrames(3), "MP3"},
                         {adts + adts + adts, "AAC (ADTS)"},
                         {"#!AMR\n", "AMR"},
                         {"FORM1234AIFC", "AIFF"}}) {
    for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kFloat32,
                                          SampleEncoding::kMulaw, SampleEncoding::kAlaw}) {
      for (const size_t size : {size_t{1}, size_t{7}, c.begin.size()}) {
        const std::unique_ptr<SampleDecoder> decoder = MakeSampleDecoder(encoding);
        std::string mistake;
        try {
          for (size_t i = 0; i < c.begin.size(); i += size) {
            decoder->Decode(c.begin.substr(i, size));
          }
        } catch (const ClientMistake& error) {
          mistake = error.what();
        }
        // Single bytes may be wrong as numbers before they are known as a file.
        if (encoding == SampleEncoding::kFloat32 && mistake.find("the audio") != 0) continue;
        EXPECT_EQ(mistake, "the audio is " + c.name + ", expected " + NameOf(encoding) +
                               " without a header");
      }
    }
  }
}

TEST(RawMediaDecoder, SamplesAreNotTakenForFiles) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> quiet(-300, 3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int16_t> samples(2000);
    for (int16_t& sample : samples) {
      sample = static_cast<int16_t>(round % 2 == 0 ? quiet(random) : static_cast<int>(random()));
    }
    // As if each stream began with a frame's header.
    if (round % 3 == 0) samples[0] = static_cast<int16_t>(0xFBFF);
    if (round % 3 == 1) samples[0] = static_cast<int16_t>(0xF1FF);
    RawMediaDecoder decoder(SampleEncoding::kPcm16, 16000, 1);
    ASSERT_EQ(decoder.Decode(Pcm16(samples)).size(), samples.size());
  }
}

}  // namespace
}  // namespace runnel::server
