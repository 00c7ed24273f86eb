// The functions of runtime/c_api.h that open, restore and fork streams.
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/options.h"
#include "runtime/c_api/sized_struct.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "runtime/word_list.h"

using runnel::LiveStream;
using runnel::LiveUpdate;
using runnel::OptionValues;
using runnel::Recognizer;
using runnel::RestoreOptions;
using runnel::StreamOptions;
using runnel::c_api::Call;
using runnel::c_api::NotNull;
using runnel::c_api::StreamDefaults;

namespace {

constexpr runnel_restore_options kRestoreDefaults = {
    sizeof(runnel_restore_options), nullptr, nullptr, 0, nullptr, nullptr};

runnel::UpdateCallback CallbackOf(runnel_update_callback on_update, void* user_data) {
  if (on_update == nullptr) return {};
  return [on_update, user_data](LiveStream& stream, const LiveUpdate& update) {
    runnel_stream borrowed{nullptr, &stream};
    on_update(user_data, &borrowed, runnel::c_api::ToC(&update));
  };
}

// The stream's options with the objects of `c`.
StreamOptions OptionsOf(const runnel_stream_options& c,
                        const std::shared_ptr<const runnel::Model>& model) {
  OptionValues values = runnel::c_api::ValuesOf(c);
  runnel::SearchOptions& search = values.stream.search;
  if (c.word_list != nullptr) search.word_list = c.word_list->word_list;
  if (c.hotwords != nullptr) search.hotwords = c.hotwords->hotwords;
  if (c.language_model != nullptr) {
    values.language_model.model = c.language_model->language_model;
    search.language_model = c.language_model->scorers.Get(values.language_model, model);
  }
  return values.stream;
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
    const StreamOptions chosen = OptionsOf(given, opener.model());
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
