#include "tools/decode/formats/caption_formatters.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace runnel {
namespace {

constexpr char kVttHeader[] = "WEBVTT\n\n";

// "00:00:01,234", with the given sign before the milliseconds.
std::string Timestamp(double ms, char sign) {
  const int64_t all = std::llround(ms);
  char text[48];
  std::snprintf(text, sizeof(text), "%02lld:%02lld:%02lld%c%03lld",
                static_cast<long long>(all / 3600000), static_cast<long long>(all / 60000 % 60),
                static_cast<long long>(all / 1000 % 60), sign, static_cast<long long>(all % 1000));
  return text;
}

std::string TimeLine(const CaptionCue& cue, char sign) {
  return Timestamp(cue.start_ms, sign) + " --> " + Timestamp(cue.end_ms, sign) + "\n";
}

// The characters that begin tags and character references.
std::string EscapedForVtt(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

SubRip::SubRip(const TokenTable& tokens) : tokens_(tokens) {}

std::string SubRip::Add(const Utterance& utterance) {
  std::string text;
  for (const CaptionCue& cue : MakeCues(utterance, tokens_)) {
    text += std::to_string(++num_cues_) + "\n" + TimeLine(cue, ',');
    for (const std::string& line : cue.lines) text += line + "\n";
    text += "\n";
  }
  return text;
}

WebVtt::WebVtt(const TokenTable& tokens) : tokens_(tokens) {}

std::string WebVtt::Add(const Utterance& utterance) {
  std::string text;
  for (const CaptionCue& cue : MakeCues(utterance, tokens_)) {
    if (!std::exchange(has_header_, true)) text += kVttHeader;
    text += TimeLine(cue, '.');
    for (const std::string& line : cue.lines) text += EscapedForVtt(line) + "\n";
    text += "\n";
  }
  return text;
}

std::string WebVtt::Finish(double /*audio_seconds*/) { return has_header_ ? "" : kVttHeader; }

}  // namespace runnel
