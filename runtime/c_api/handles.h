// The definitions of the opaque handles of the C interface.
//
// This folder implements runtime/c_api.h on Recognizer and LiveStream.
#ifndef RUNNEL_RUNTIME_C_API_HANDLES_H_
#define RUNNEL_RUNTIME_C_API_HANDLES_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/c_api/shared_scorers.h"
#include "runtime/live_update.h"
#include "runtime/result.h"

namespace runnel {
class Hotwords;
class LanguageModel;
class LiveStream;
class Model;
class Recognizer;
class WordList;
}  // namespace runnel

struct runnel_model {
  std::shared_ptr<const runnel::Model> model;
  std::string description;
  std::vector<std::string> languages;
};

struct runnel_word_list {
  std::shared_ptr<const runnel::WordList> word_list;
};

struct runnel_hotwords {
  std::shared_ptr<const runnel::Hotwords> hotwords;
};

struct runnel_language_model {
  std::shared_ptr<const runnel::LanguageModel> language_model;
  mutable runnel::c_api::SharedScorers scorers;
};

struct runnel_recognizer {
  std::unique_ptr<runnel::Recognizer> recognizer;
};

// A borrowed handle, which a callback gets, has owned == nullptr.
struct runnel_stream {
  std::shared_ptr<runnel::LiveStream> owned;
  runnel::LiveStream* live;
};

struct runnel_buffer {
  std::string bytes;
};

namespace runnel::c_api {

// runnel_update, runnel_utterance and runnel_hypothesis are the C names of these types, so that a
// callback gets one without a copy.
inline const LiveUpdate& FromC(const runnel_update& update) {
  return reinterpret_cast<const LiveUpdate&>(update);
}
inline const Utterance& FromC(const runnel_utterance& utterance) {
  return reinterpret_cast<const Utterance&>(utterance);
}
inline const Hypothesis& FromC(const runnel_hypothesis& hypothesis) {
  return reinterpret_cast<const Hypothesis&>(hypothesis);
}
inline const runnel_update* ToC(const LiveUpdate* update) {
  return reinterpret_cast<const runnel_update*>(update);
}
inline const runnel_utterance* ToC(const Utterance* utterance) {
  return reinterpret_cast<const runnel_utterance*>(utterance);
}
inline const runnel_hypothesis* ToC(const Hypothesis* hypothesis) {
  return reinterpret_cast<const runnel_hypothesis*>(hypothesis);
}

// Passes ownership to the caller.
runnel_update* GiveToC(std::unique_ptr<LiveUpdate> update);

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_HANDLES_H_
