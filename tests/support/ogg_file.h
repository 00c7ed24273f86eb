// Ogg Opus files that tests make with libogg. Link PkgConfig::ogg.
#ifndef RUNNEL_TESTS_SUPPORT_OGG_FILE_H_
#define RUNNEL_TESTS_SUPPORT_OGG_FILE_H_

#include <ogg/ogg.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel::testing {

// The bytes of a little-endian number.
inline std::string Little(uint64_t number, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFF);
  return bytes;
}

struct OggStream {
  std::vector<std::string> packets;  // of audio
  unsigned channels = 1;
  unsigned pre_skip = 312;
  uint32_t rate_hz = 16000;   // of the recording, in the header
  int gain = 0;               // of 1/256 dB
  int packet_granules = 960;  // samples of a packet, at 48 kHz
  int64_t end_granule = 0;    // 0: that of the packets
  int serial = 7;
};

inline std::string Head(const OggStream& stream) {
  return "OpusHead" + Little(1, 1) + Little(stream.channels, 1) + Little(stream.pre_skip, 2) +
         Little(stream.rate_hz, 4) + Little(static_cast<uint16_t>(stream.gain), 2) + Little(0, 1);
}

// Written by libogg, with `header` as the first packet and several packets on a page.
inline std::string Ogg(const OggStream& stream, const std::string& header) {
  ogg_stream_state state;
  ogg_stream_init(&state, stream.serial);
  std::string file;
  const auto append_pages = [&](auto take_page) {
    ogg_page page;
    while (take_page(&state, &page) != 0) {
      file.append(reinterpret_cast<const char*>(page.header), static_cast<size_t>(page.header_len));
      file.append(reinterpret_cast<const char*>(page.body), static_cast<size_t>(page.body_len));
    }
  };
  int64_t number = 0;
  const auto add = [&](std::string bytes, int64_t granule, bool is_last) {
    ogg_packet packet{};
    packet.packet = reinterpret_cast<unsigned char*>(bytes.data());
    packet.bytes = static_cast<long>(bytes.size());
    packet.b_o_s = number == 0 ? 1 : 0;
    packet.e_o_s = is_last ? 1 : 0;
    packet.granulepos = granule;
    packet.packetno = number++;
    ogg_stream_packetin(&state, &packet);
  };
  add(header, 0, false);
  append_pages(ogg_stream_flush);
  add("OpusTags" + Little(4, 4) + "test" + Little(0, 4), 0, false);
  append_pages(ogg_stream_flush);
  int64_t granule = 0;
  for (const std::string& packet : stream.packets) {
    granule += stream.packet_granules;
    const bool is_last = &packet == &stream.packets.back();
    add(packet, is_last && stream.end_granule > 0 ? stream.end_granule : granule, is_last);
    if (number % 7 == 0) append_pages(ogg_stream_flush);
  }
  append_pages(ogg_stream_flush);
  ogg_stream_clear(&state);
  return file;
}

inline std::string Ogg(const OggStream& stream) { return Ogg(stream, Head(stream)); }

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_OGG_FILE_H_
