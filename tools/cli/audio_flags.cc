#include "tools/cli/audio_flags.h"

#include <gflags/gflags.h>

#include <stdexcept>

DEFINE_int32(channel, -1, "Audio channel to use, counted from 0; -1: the mean of all.");
DEFINE_int32(audio_track, -1,
             "Audio track to use of MP4, Matroska and others, counted from 0; -1: the main one.");

DEFINE_bool(strict_recordings, false,
            "Refuse recordings that are damaged, instead of a warning that says what was skipped.");

namespace runnel {
namespace {

// libsndfile reads up to 1024 channels, FFmpeg up to 1000 tracks.
constexpr int kMaxChannel = 1023;
constexpr int kMaxTrack = 999;

}  // namespace

const FlagSource kAudioFlagsSource = {__FILE__, "Flags of the recordings"};

AudioReaderOptions AudioOptionsFromFlags() {
  RequireRange("channel", FLAGS_channel, -1, kMaxChannel);
  RequireRange("audio_track", FLAGS_audio_track, -1, kMaxTrack);
  AudioReaderOptions options;
  options.channel = FLAGS_channel;
  options.audio_track = FLAGS_audio_track;
  options.strict_recordings = FLAGS_strict_recordings;
  return options;
}

void RequireNoAudioFlags(const std::string& reason) {
  for (const char* const name : {"channel", "audio_track", "strict_recordings"}) {
    if (!IsFlagGiven(name)) continue;
    throw std::invalid_argument(std::string("--") + name + " cannot be given with " + reason);
  }
}

}  // namespace runnel
