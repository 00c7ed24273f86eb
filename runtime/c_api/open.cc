// The functions of runtime/c_api.h that open, restore and fork streams.
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/sized_struct.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "runtime/word_list.h"

using runnel::EndpointOptions;
using runnel::Head;
using runnel::LanguageModelLevel;
using runnel::LanguageModelOptions;
using runnel::LiveStream;
using runnel::LiveUpdate;
using runnel::Recognizer;
using runnel::RestoreOptions;
using runnel::SearchMethod;
using runnel::StreamOptions;
using runnel::c_api::Call;
using runnel::c_api::NotNull;
using runnel::c_api::Truth;

namespace {

static_assert(RUNNEL_MODEL_DEFAULT == StreamOptions::kModelDefault);
static_assert(RUNNEL_WHOLE_UTTERANCE == StreamOptions::kWholeUtterance);
static_assert(RUNNEL_UNLIMITED == StreamOptions::kUnlimited);

runnel_stream_options StreamDefaults() {
  const StreamOptions stream;
  const LanguageModelOptions language_model;
  runnel_stream_options c = {};
  c.struct_size = sizeof c;
  c.chunk_size = stream.chunk_size;
  c.left_context = stream.left_context;
  c.sample_rate_hz = stream.sample_rate_hz;
  c.search = RUNNEL_GREEDY;
  c.beam_size = stream.search.beam_size;
  c.token_beam = stream.search.token_beam;
  c.language_model_level = RUNNEL_WORD_LEVEL;
  c.language_model_weight = language_model.weight;
  c.language_model_bonus = language_model.bonus;
  c.nbest = stream.nbest;
  c.endpointing = stream.endpoints.enabled ? 1 : 0;
  c.reset_encoder = stream.endpoints.reset_encoder ? 1 : 0;
  c.skip_silence = stream.endpoints.skip_silence ? 1 : 0;
  c.endpoint_silence_s = stream.endpoints.rules[EndpointOptions::kSilence].min_silence_s;
  c.endpoint_initial_silence_s =
      stream.endpoints.rules[EndpointOptions::kInitialSilence].min_silence_s;
  c.endpoint_max_utterance_s = stream.endpoints.rules[EndpointOptions::kLength].min_utterance_s;
  c.endpoint_blank_probability = stream.endpoints.silence_blank_probability;
  c.early_text_interval = stream.early_text.interval;
  c.early_text_padding = stream.early_text.padding;
  c.head = RUNNEL_HEAD_DEFAULT;
  c.max_symbols = stream.search.max_symbols;
  c.ctc_weight = stream.search.ctc_weight;
  c.rescoring = stream.search.rescoring.enabled ? 1 : 0;
  c.first_pass_weight = stream.search.rescoring.first_pass_weight;
  c.reverse_weight = stream.search.rescoring.reverse_weight;
  return c;
}

constexpr runnel_restore_options kRestoreDefaults = {
    sizeof(runnel_restore_options), nullptr, nullptr, 0, nullptr, nullptr};

runnel::UpdateCallback CallbackOf(runnel_update_callback on_update, void* user_data) {
  if (on_update == nullptr) return {};
  return [on_update, user_data](LiveStream& stream, const LiveUpdate& update) {
    runnel_stream borrowed{nullptr, &stream};
    on_update(user_data, &borrowed, runnel::c_api::ToC(&update));
  };
}

SearchMethod SearchOf(int32_t value) {
  switch (value) {
    case RUNNEL_GREEDY:
      return SearchMethod::kGreedy;
    case RUNNEL_PREFIX_BEAM:
      return SearchMethod::kPrefixBeam;
    case RUNNEL_MODIFIED_BEAM:
      return SearchMethod::kModifiedBeam;
  }
  throw std::invalid_argument(
      "runnel_stream_options.search is " + std::to_string(value) +
      ", expected RUNNEL_GREEDY, RUNNEL_PREFIX_BEAM or RUNNEL_MODIFIED_BEAM");
}

Head HeadOf(int32_t value) {
  switch (value) {
    case RUNNEL_HEAD_DEFAULT:
      return Head::kDefault;
    case RUNNEL_HEAD_CTC:
      return Head::kCtc;
    case RUNNEL_HEAD_TRANSDUCER:
      return Head::kTransducer;
  }
  throw std::invalid_argument("runnel_stream_options.head is " + std::to_string(value) +
                              ", expected RUNNEL_HEAD_DEFAULT, _CTC or _TRANSDUCER");
}

LanguageModelLevel LevelOf(int32_t value) {
  switch (value) {
    case RUNNEL_WORD_LEVEL:
      return LanguageModelLevel::kWord;
    case RUNNEL_TOKEN_LEVEL:
      return LanguageModelLevel::kToken;
  }
  throw std::invalid_argument("runnel_stream_options.language_model_level is " +
                              std::to_string(value) +
                              ", expected RUNNEL_WORD_LEVEL or RUNNEL_TOKEN_LEVEL");
}

runnel::SearchOptions SearchOptionsOf(const runnel_stream_options& c,
                                      const std::shared_ptr<const runnel::Model>& model) {
  runnel::SearchOptions search;
  search.method = SearchOf(c.search);
  search.beam_size = c.beam_size;
  search.token_beam = c.token_beam;
  search.head = HeadOf(c.head);
  search.max_symbols = c.max_symbols;
  search.ctc_weight = c.ctc_weight;
  search.rescoring.enabled = Truth(c.rescoring, "runnel_stream_options.rescoring");
  search.rescoring.first_pass_weight = c.first_pass_weight;
  search.rescoring.reverse_weight = c.reverse_weight;
  if (c.word_list != nullptr) search.word_list = c.word_list->word_list;
  if (c.hotwords != nullptr) search.hotwords = c.hotwords->hotwords;
  if (c.language_model != nullptr) {
    LanguageModelOptions options;
    options.model = c.language_model->language_model;
    options.level = LevelOf(c.language_model_level);
    options.weight = c.language_model_weight;
    options.bonus = c.language_model_bonus;
    search.language_model = c.language_model->scorers.Get(options, model);
  }
  return search;
}

EndpointOptions EndpointOptionsOf(const runnel_stream_options& c) {
  EndpointOptions endpoints;
  endpoints.enabled = Truth(c.endpointing, "runnel_stream_options.endpointing");
  endpoints.reset_encoder = Truth(c.reset_encoder, "runnel_stream_options.reset_encoder");
  endpoints.skip_silence = Truth(c.skip_silence, "runnel_stream_options.skip_silence");
  endpoints.rules[EndpointOptions::kSilence].min_silence_s = c.endpoint_silence_s;
  endpoints.rules[EndpointOptions::kInitialSilence].min_silence_s = c.endpoint_initial_silence_s;
  endpoints.rules[EndpointOptions::kLength].min_utterance_s = c.endpoint_max_utterance_s;
  endpoints.silence_blank_probability = c.endpoint_blank_probability;
  return endpoints;
}

// `live` is made by `open`, after the handle, so that no stream is lost for want of memory.
template <typename Open>
runnel_stream* NewHandle(const Open& open) {
  auto handle = std::make_unique<runnel_stream>();
  handle->owned = open();
  handle->live = handle->owned.get();
  return handle.release();
}

}  // namespace

void runnel_stream_options_init(runnel_stream_options* options, size_t struct_size) {
  runnel::c_api::Initialise(StreamDefaults(), options, struct_size);
}

runnel_status runnel_stream_open(runnel_recognizer* recognizer,
                                 const runnel_stream_options* options, runnel_stream** stream,
                                 runnel_error* error) {
  return Call(error, [&] {
    NotNull(stream, "stream") = nullptr;
    Recognizer& opener = *NotNull(recognizer, "recognizer").recognizer;
    const runnel_stream_options given =
        runnel::c_api::Read(options, StreamDefaults(), "runnel_stream_options");
    StreamOptions chosen;
    chosen.chunk_size = given.chunk_size;
    chosen.left_context = given.left_context;
    chosen.sample_rate_hz = given.sample_rate_hz;
    chosen.search = SearchOptionsOf(given, opener.model());
    chosen.endpoints = EndpointOptionsOf(given);
    if (given.language != nullptr) chosen.language = given.language;
    chosen.nbest = given.nbest;
    chosen.early_text.interval = given.early_text_interval;
    chosen.early_text.padding = given.early_text_padding;
    *stream = NewHandle(
        [&] { return opener.Open(chosen, CallbackOf(given.on_update, given.user_data)); });
  });
}

void runnel_restore_options_init(runnel_restore_options* options, size_t struct_size) {
  runnel::c_api::Initialise(kRestoreDefaults, options, struct_size);
}

runnel_status runnel_stream_restore(runnel_recognizer* recognizer, const uint8_t* snapshot,
                                    size_t size, const runnel_restore_options* options,
                                    runnel_stream** stream, runnel_error* error) {
  return Call(error, [&] {
    NotNull(stream, "stream") = nullptr;
    Recognizer& opener = *NotNull(recognizer, "recognizer").recognizer;
    const auto* bytes = reinterpret_cast<const char*>(&NotNull(snapshot, "snapshot"));
    const runnel_restore_options given =
        runnel::c_api::Read(options, kRestoreDefaults, "runnel_restore_options");
    *stream = NewHandle([&] {
      RestoreOptions chosen;
      if (given.word_list != nullptr) chosen.word_list = given.word_list->word_list;
      if (given.language_model != nullptr) {
        chosen.language_model = given.language_model->language_model;
      }
      chosen.nbest = given.nbest;
      return opener.Restore({bytes, size}, CallbackOf(given.on_update, given.user_data), chosen);
    });
  });
}

runnel_status runnel_stream_fork(runnel_stream* stream, runnel_update_callback on_update,
                                 void* user_data, runnel_stream** fork, runnel_error* error) {
  return Call(error, [&] {
    NotNull(fork, "fork") = nullptr;
    LiveStream& live = *NotNull(stream, "stream").live;
    *fork = NewHandle([&] { return live.Fork(CallbackOf(on_update, user_data)); });
  });
}
