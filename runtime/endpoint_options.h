// When a stream ends an utterance by itself and begins the next one.
#ifndef RUNNEL_RUNTIME_ENDPOINT_OPTIONS_H_
#define RUNNEL_RUNTIME_ENDPOINT_OPTIONS_H_

#include <array>
#include <cstddef>

namespace runnel {

// An utterance ends after the first encoder frame for which all three conditions hold.
struct EndpointRule {
  bool needs_speech = false;   // the best hypothesis has tokens
  double min_silence_s = 0;    // seconds of silence at the end of the utterance
  double min_utterance_s = 0;  // seconds since the utterance before ended, silence included
};

// Rules of Kaldi (online2/online-endpoint.h), with the defaults of sherpa-onnx. Any rule ends the
// utterance. A frame is silent when the model gives the blank at least `silence_blank_probability`
// (WeNet, decoder/ctc_endpoint). The decision is made frame by frame, so an endpoint depends on the
// audio, the model, the chunk size, the left context and the search only.
struct EndpointOptions {
  static constexpr double kMaxSeconds = 86400;
  // The least values that the tools and the server accept of their users. Smaller ones would end
  // utterances within words.
  static constexpr double kMinSilenceS = 0.1;
  static constexpr double kMinUtteranceS = 1;
  static constexpr double kMinBlankProbability = 0.1;

  // The rules by name: silence without speech, silence after speech, length.
  static constexpr size_t kInitialSilence = 0;
  static constexpr size_t kSilence = 1;
  static constexpr size_t kLength = 2;

  bool enabled = false;
  // The first rule holds only while the utterance has no tokens.
  std::array<EndpointRule, 3> rules = {{
      {/*needs_speech=*/false, /*min_silence_s=*/2.4, /*min_utterance_s=*/0},  // begins anew
      {/*needs_speech=*/true, /*min_silence_s=*/1.2, /*min_utterance_s=*/0},   // the usual end
      {/*needs_speech=*/false, /*min_silence_s=*/0, /*min_utterance_s=*/20},   // bounds the length
  }};
  double silence_blank_probability = 0.8;  // above 0, at most 1

  // The first chunk after the utterance has no left context, as at the start of a stream. By
  // default the encoder goes on. sherpa-onnx resets its encoder at every endpoint. Also after
  // Stream::FinalizeUtterance, whether `enabled` or not.
  bool reset_encoder = false;

  // After an utterance that a rule with min_silence_s above 0 ended, nothing is computed until the
  // audio is louder than the background. The first chunk then begins with the skip_silence_lead_s
  // before that and has no left context. Saves the time of silent audio. Speech that is hardly
  // louder than the background is lost. No effect without `enabled`.
  bool skip_silence = false;
  double skip_silence_lead_s = 0.6;  // 0.1 to 10 s; longer for speech that begins softly

  // Throws std::invalid_argument naming field, value and range.
  void Validate() const;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ENDPOINT_OPTIONS_H_
