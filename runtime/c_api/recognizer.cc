// The functions of runtime/c_api.h for recognizers, and the streams that they open.
#include "runtime/recognizer.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/sized_struct.h"
#include "runtime/live_stream.h"
#include "runtime/word_list.h"

using runnel::BatchReport;
using runnel::LiveStream;
using runnel::LiveUpdate;
using runnel::Recognizer;
using runnel::RecognizerOptions;
using runnel::RecognizerStatus;
using runnel::RestoreOptions;
using runnel::SearchMethod;
using runnel::StreamOptions;
using runnel::c_api::Call;
using runnel::c_api::NotNull;

namespace {

static_assert(RUNNEL_MODEL_DEFAULT == StreamOptions::kModelDefault);
static_assert(RUNNEL_WHOLE_UTTERANCE == StreamOptions::kWholeUtterance);
static_assert(RUNNEL_UNLIMITED == StreamOptions::kUnlimited);

runnel_recognizer_options RecognizerDefaults() {
  const RecognizerOptions defaults;
  return {sizeof(runnel_recognizer_options),
          defaults.num_threads,
          defaults.max_batch_streams,
          defaults.max_batch_wait_ms,
          defaults.max_buffered_s,
          nullptr,
          nullptr};
}

runnel_stream_options StreamDefaults() {
  const StreamOptions defaults;
  return {sizeof(runnel_stream_options),
          defaults.chunk_size,
          defaults.left_context,
          defaults.sample_rate_hz,
          RUNNEL_GREEDY,
          defaults.search.beam_size,
          defaults.search.token_beam,
          nullptr,
          1,
          nullptr,
          nullptr};
}

constexpr runnel_restore_options kRestoreDefaults = {sizeof(runnel_restore_options), nullptr, 0,
                                                     nullptr, nullptr};

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
  }
  throw std::invalid_argument("runnel_stream_options.search is " + std::to_string(value) +
                              ", expected RUNNEL_GREEDY or RUNNEL_PREFIX_BEAM");
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

void runnel_recognizer_options_init(runnel_recognizer_options* options, size_t struct_size) {
  runnel::c_api::Initialise(RecognizerDefaults(), options, struct_size);
}

runnel_status runnel_recognizer_create(const runnel_model* model,
                                       const runnel_recognizer_options* options,
                                       runnel_recognizer** recognizer, runnel_error* error) {
  return Call(error, [&] {
    NotNull(recognizer, "recognizer") = nullptr;
    const auto& shared_model = NotNull(model, "model").model;
    const runnel_recognizer_options given =
        runnel::c_api::Read(options, RecognizerDefaults(), "runnel_recognizer_options");
    RecognizerOptions chosen;
    chosen.num_threads = given.num_threads;
    chosen.max_batch_streams = given.max_batch_streams;
    chosen.max_batch_wait_ms = given.max_batch_wait_ms;
    chosen.max_buffered_s = given.max_buffered_s;
    if (given.on_batch != nullptr) {
      chosen.on_batch = [on_batch = given.on_batch,
                         user_data = given.user_data](const BatchReport& report) {
        const runnel_batch_report c = {sizeof(runnel_batch_report), report.chunk_ms.size(),
                                       report.queue_ms.data(),      report.chunk_ms.data(),
                                       report.compute_ms,           report.audio_s};
        on_batch(user_data, &c);
      };
    }
    auto handle = std::make_unique<runnel_recognizer>();
    handle->recognizer = std::make_unique<Recognizer>(shared_model, chosen);
    *recognizer = handle.release();
  });
}

void runnel_recognizer_free(runnel_recognizer* recognizer) { delete recognizer; }

runnel_status runnel_recognizer_get_status(const runnel_recognizer* recognizer,
                                           runnel_recognizer_status* status, runnel_error* error) {
  return Call(error, [&] {
    const RecognizerStatus now = NotNull(recognizer, "recognizer").recognizer->status();
    const runnel_recognizer_status c = {sizeof(runnel_recognizer_status),
                                        now.num_streams,
                                        now.queued_streams,
                                        now.num_batches,
                                        now.num_chunks,
                                        now.audio_s,
                                        now.compute_s,
                                        now.queue_ms_p50,
                                        now.queue_ms_p95,
                                        now.chunk_ms_p50,
                                        now.chunk_ms_p95,
                                        now.chunk_ms_p99};
    runnel::c_api::Write(c, status, "runnel_recognizer_status");
  });
}

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
    chosen.search.method = SearchOf(given.search);
    chosen.search.beam_size = given.beam_size;
    chosen.search.token_beam = given.token_beam;
    if (given.word_list != nullptr) chosen.search.word_list = given.word_list->word_list;
    chosen.nbest = given.nbest;
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
