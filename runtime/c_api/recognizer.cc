// The functions of runtime/c_api.h for recognizers.
#include "runtime/recognizer.h"

#include <memory>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/sized_struct.h"

using runnel::BatchReport;
using runnel::Recognizer;
using runnel::RecognizerOptions;
using runnel::RecognizerStatus;
using runnel::c_api::Call;
using runnel::c_api::NotNull;

namespace {

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
