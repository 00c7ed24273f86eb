/* The C interface of Runnel: runtime/recognizer.h and runtime/live_stream.h for C99, for foreign
   function interfaces of other languages, and for programs that are not recompiled for a new
   version. Link librunnel (Runnel::c). docs/embedding.md has complete programs.

   Handles are opaque. The caller owns every handle that a function returns, unless it is said to be
   borrowed, and frees it with the function named beside its type. Freeing NULL does nothing.
   Handles keep alive what they need: a model may be freed once the recognizer is made, and a
   recognizer before its streams are closed (which are cancelled then). Borrowed handles, strings
   and other results of type const pointer belong to the handle they were read from and are valid as
   long as it is.

   Errors. A function that can fail returns a runnel_status and takes a runnel_error as its last
   argument, which receives the message. Make one per thread and use it for any number of calls, or
   pass NULL. Every call sets it: to RUNNEL_OK and "" when the call succeeds. When a call fails, its
   outputs are NULL or 0 and the handles it was given are unchanged. Functions that cannot fail
   return NULL, "" or 0 for a NULL handle. No argument ends the process, except a handle that is
   freed already. No C++ exception leaves a function.

   Threads. Every handle may be used from several threads at once, with two exceptions. A
   runnel_error belongs to one call at a time, so that each of two threads that fail on the same
   stream reads its own message. The call that frees a handle must be the last.

   Callbacks run on the recognizer's worker threads, unless their description says otherwise. They
   must not throw C++ exceptions and should be short, because a worker waits for them. They may call
   every function except runnel_recognizer_free. Closing or cancelling a stream waits for its
   running callback, so two callbacks that close each other's streams deadlock.

   Structs begin with their size, so that they can grow at their end. To set options, declare the
   struct, call its _init function with sizeof, and change fields. NULL for options means the
   defaults. A program that was compiled against an older header runs with a newer library of the
   same soname. A library refuses the larger struct of a newer header with RUNNEL_INVALID_ARGUMENT.
   Values of enums never change. Booleans are 0 and 1.

   Strings are UTF-8 and end in NUL. Samples are counted per channel. Times are in milliseconds of
   audio from the start of the stream, unless their name contains latency, queue, chunk or wait. */
#ifndef RUNNEL_RUNTIME_C_API_H_
#define RUNNEL_RUNTIME_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct runnel_error runnel_error;                   /* runnel_error_free */
typedef struct runnel_model runnel_model;                   /* runnel_model_free */
typedef struct runnel_word_list runnel_word_list;           /* runnel_word_list_free */
typedef struct runnel_hotwords runnel_hotwords;             /* runnel_hotwords_free */
typedef struct runnel_language_model runnel_language_model; /* runnel_language_model_free */
typedef struct runnel_recognizer runnel_recognizer;         /* runnel_recognizer_free */
typedef struct runnel_stream runnel_stream;                 /* runnel_stream_close */
typedef struct runnel_update runnel_update;         /* runnel_update_free, unless borrowed */
typedef struct runnel_utterance runnel_utterance;   /* always borrowed, from its update */
typedef struct runnel_hypothesis runnel_hypothesis; /* always borrowed, from its update */
typedef struct runnel_buffer runnel_buffer;         /* runnel_buffer_free */

typedef enum runnel_status {
  RUNNEL_OK = 0,
  RUNNEL_INVALID_ARGUMENT = 1, /* wrong use: NULL, a value out of range, a call out of order */
  RUNNEL_BAD_DATA = 2,         /* a file or snapshot that cannot be read or used */
  RUNNEL_OUT_OF_RESOURCES = 3, /* memory or threads */
  RUNNEL_INTERNAL = 4          /* a bug in this library */
} runnel_status;

/* The version of the loaded library. RUNNEL_VERSION in runtime/version.h is that of the headers. */
const char* runnel_version(void);

/* ---- Errors ---- */

/* Returns NULL when there is no memory. Every function accepts NULL as its error argument. */
runnel_error* runnel_error_create(void);
void runnel_error_free(runnel_error* error);

/* Status and message of the last call that was given `error`. The message is one line and valid
   until the next such call. */
runnel_status runnel_error_status(const runnel_error* error);
const char* runnel_error_message(const runnel_error* error);

/* ---- Models: load once per process, share between recognizers ---- */

/* Data type of the large matrix multiplications; RUNNEL_FLOAT64: of everything. RUNNEL_INT4 is that
   of files from pack_model only. The default is that of a file with packed weights, otherwise
   RUNNEL_FLOAT32. */
enum {
  RUNNEL_FLOAT32 = 0,
  RUNNEL_BFLOAT16 = 1,
  RUNNEL_INT8 = 2,
  RUNNEL_FLOAT64 = 3,
  RUNNEL_PRECISION_DEFAULT = 4,
  RUNNEL_INT4 = 5
};
/* The faster backend for the precision, Runnel's own kernels, or LibTorch's operations, an optional
   component. */
enum { RUNNEL_BACKEND_DEFAULT = 0, RUNNEL_BACKEND_CPU = 1, RUNNEL_BACKEND_LIBTORCH = 2 };

/* The fields and defaults of ModelOptions in runtime/model.h. */
typedef struct runnel_model_options {
  size_t struct_size;
  int32_t precision;                 /* RUNNEL_PRECISION_DEFAULT */
  int32_t backend;                   /* RUNNEL_BACKEND_DEFAULT */
  int32_t bfloat16_cache;            /* 0; 1: half the memory per stream */
  int32_t dynamic_chunk_convolution; /* 0; 1: lets a whole-utterance model stream */
  int32_t running_normalization;     /* 0; 1: likewise */
  const char* units_file;            /* NULL; units.txt of a model file without one */
  int32_t step_threads;              /* 1; threads that compute one step, 1 to 64 */
} runnel_model_options;

void runnel_model_options_init(runnel_model_options* options, size_t struct_size);

runnel_status runnel_model_load(const char* path, const runnel_model_options* options,
                                runnel_model** model, runnel_error* error);
void runnel_model_free(runnel_model* model);

const char* runnel_model_name(const runnel_model* model);
/* Equal for models that compute the same results. A snapshot restores only on its own model. */
const char* runnel_model_fingerprint(const runnel_model* model);
/* Precision, cache and instruction set in one line, for a log. */
const char* runnel_model_description(const runnel_model* model);
int32_t runnel_model_sample_rate_hz(const runnel_model* model);
/* Duration of one encoder frame: chunk_size and left_context are counted in these. */
double runnel_model_frame_ms(const runnel_model* model);
/* The token with this id as the model's units.txt writes it; NULL for an id out of range. */
const char* runnel_model_token(const runnel_model* model, int32_t id);
/* The languages that a stream may choose; none of a model without a language prompt. NULL for an
   index out of range. */
size_t runnel_model_num_languages(const runnel_model* model);
const char* runnel_model_language(const runnel_model* model, size_t index);

/* A list of words that a search is restricted to (format: runtime/word_list.h), for any number of
   streams of the model. */
runnel_status runnel_word_list_load(const runnel_model* model, const char* path,
                                    runnel_word_list** word_list, runnel_error* error);
void runnel_word_list_free(runnel_word_list* word_list);

/* Phrases that a search prefers (format: runtime/hotwords.h), for any number of streams of the
   model: read from a file, or given as text. `default_score` is that of phrases without a score; it
   is a bonus per character, -100 to 100. RUNNEL_BAD_DATA for a list with a mistake: the message
   names the line. In a list given as text, the line is named "hotwords:LINE". */
runnel_status runnel_hotwords_load(const runnel_model* model, const char* path, float default_score,
                                   runnel_hotwords** hotwords, runnel_error* error);
runnel_status runnel_hotwords_create(const runnel_model* model, const char* text,
                                     float default_score, runnel_hotwords** hotwords,
                                     runnel_error* error);
void runnel_hotwords_free(runnel_hotwords* hotwords);
/* The default score that suits most models. */
float runnel_hotwords_default_score(void);

/* An n-gram language model: ARPA text, or a file that compile_lm wrote (docs/language_models.md),
   for any number of streams of any models. Streams of one model with equal level, weight and bonus
   share what is computed for the model's vocabulary; the first of them to open computes it. */
runnel_status runnel_language_model_load(const char* path, runnel_language_model** language_model,
                                         runnel_error* error);
void runnel_language_model_free(runnel_language_model* language_model);

/* ---- Recognizers: worker threads that decode many streams in batches ---- */

/* Durations of one batch. Borrowed: valid during the callback. */
typedef struct runnel_batch_report {
  size_t struct_size;
  size_t num_chunks;
  const double* queue_ms; /* (num_chunks) from last sample accepted to start of the batch */
  const double* chunk_ms; /* (num_chunks) from last sample accepted to result */
  double compute_ms;      /* of the batch */
  double audio_s;         /* by which its chunks advanced their streams */
} runnel_batch_report;

/* May be called from several workers at once. */
typedef void (*runnel_batch_callback)(void* user_data, const runnel_batch_report* report);

/* The fields and defaults of RecognizerOptions in runtime/recognizer.h. */
typedef struct runnel_recognizer_options {
  size_t struct_size;
  int32_t num_threads;            /* 1; workers, each on one core or on step_threads */
  int32_t max_batch_streams;      /* 16 */
  double max_batch_wait_ms;       /* 10; longest wait of a chunk for others */
  double max_buffered_s;          /* 30; undecoded audio of a stream */
  runnel_batch_callback on_batch; /* NULL */
  void* user_data;                /* NULL; given to on_batch */
} runnel_recognizer_options;

void runnel_recognizer_options_init(runnel_recognizer_options* options, size_t struct_size);

runnel_status runnel_recognizer_create(const runnel_model* model,
                                       const runnel_recognizer_options* options,
                                       runnel_recognizer** recognizer, runnel_error* error);

/* Cancels the streams that are left and waits for the workers: no callback runs afterwards. A
   callback must not call it. A process may exit without calling it: exit() waits for the chunks
   that are being computed, not for callbacks, and no further chunk is begun. */
void runnel_recognizer_free(runnel_recognizer* recognizer);

/* Counts and durations since the recognizer was made, unless a field says "now". */
typedef struct runnel_recognizer_status {
  size_t struct_size;     /* set by the caller before the call: sizeof */
  int64_t num_streams;    /* now: not over */
  int64_t queued_streams; /* now: with a chunk that waits for a worker */
  int64_t num_batches;
  int64_t num_chunks;
  double audio_s;   /* decoded */
  double compute_s; /* spent by workers */
  double queue_ms_p50;
  double queue_ms_p95;
  double chunk_ms_p50;
  double chunk_ms_p95;
  double chunk_ms_p99;
} runnel_recognizer_status;

runnel_status runnel_recognizer_get_status(const runnel_recognizer* recognizer,
                                           runnel_recognizer_status* status, runnel_error* error);

/* ---- Streams ---- */

/* One call at a time for each stream, in order. `stream` and `update` are borrowed: valid until the
   callback returns (runnel_update_copy keeps an update longer). To close the stream in the
   callback, use the handle that runnel_stream_open returned. */
typedef void (*runnel_update_callback)(void* user_data, runnel_stream* stream,
                                       const runnel_update* update);

enum {
  RUNNEL_MODEL_DEFAULT = -2,   /* these three: what the model recommends */
  RUNNEL_WHOLE_UTTERANCE = -1, /* chunk_size: one chunk, decoded after runnel_stream_finish */
  RUNNEL_UNLIMITED = -1,       /* left_context: all frames before the chunk */
  RUNNEL_NO_RIGHT_CONTEXT = -1 /* right_context: chunks that are no windows */
};
/* The beam search of the head's own kind, or one label per frame (transducers only). */
enum { RUNNEL_GREEDY = 0, RUNNEL_PREFIX_BEAM = 1, RUNNEL_MODIFIED_BEAM = 2 };
/* RUNNEL_HEAD_DEFAULT: the transducer of a model that has one, otherwise CTC. */
enum { RUNNEL_HEAD_DEFAULT = 0, RUNNEL_HEAD_CTC = 1, RUNNEL_HEAD_TRANSDUCER = 2 };
/* The words of a language model: words of a text, or tokens of the acoustic model. */
enum { RUNNEL_WORD_LEVEL = 0, RUNNEL_TOKEN_LEVEL = 1 };

/* The fields and defaults of StreamOptions in runtime/stream.h, of SearchOptions in
   runtime/search_options.h, of EndpointOptions in runtime/endpoint_options.h and of
   LanguageModelOptions in runtime/language_model.h; docs/options.md has their ranges. Word list,
   hotwords, language model and rescoring need a beam search. What the pointers name may be freed
   once the stream is open. */
typedef struct runnel_stream_options {
  size_t struct_size;
  int64_t chunk_size;                          /* RUNNEL_MODEL_DEFAULT; encoder frames */
  int64_t left_context;                        /* RUNNEL_MODEL_DEFAULT; encoder frames */
  int32_t sample_rate_hz;                      /* 0; of the accepted samples; 0: the model's */
  int32_t search;                              /* RUNNEL_GREEDY */
  int32_t beam_size;                           /* 8; beam searches only, as is the next */
  int32_t token_beam;                          /* 20 */
  const runnel_word_list* word_list;           /* NULL */
  const runnel_hotwords* hotwords;             /* NULL */
  const runnel_language_model* language_model; /* NULL; the next three are used with it only */
  int32_t language_model_level;                /* RUNNEL_WORD_LEVEL */
  double language_model_weight;                /* 0.3 */
  double language_model_bonus;                 /* 1.0; per word or token, natural logarithm */
  int32_t nbest;                               /* 1; most hypotheses of an utterance */
  int32_t endpointing;                         /* 0; 1: utterances end by the rules below */
  int32_t reset_encoder;                       /* 0; 1: the encoder forgets the utterance before */
  int32_t skip_silence;                        /* 0; 1: nothing is computed in silence */
  double endpoint_silence_s;                   /* 1.2; rules[1]: silence after speech */
  double endpoint_initial_silence_s;           /* 2.4; rules[0]: silence without speech */
  double endpoint_max_utterance_s;             /* 20; rules[2]: length of the utterance */
  double endpoint_blank_probability;           /* 0.8; of a silent frame, 0.1 to 1 */
  int64_t early_text_interval;                 /* 0: none; encoder frames between previews */
  int64_t early_text_padding;                  /* 2; encoder frames after the audio of a preview */
  runnel_update_callback on_update;            /* NULL: results are polled */
  void* user_data;                             /* NULL; given to on_update */
  int32_t head;                                /* RUNNEL_HEAD_DEFAULT */
  int32_t max_symbols;         /* 0: the model's; most tokens of one encoder frame (transducers) */
  double ctc_weight;           /* 0; of the CTC head in a transducer's beam search, 0 to 1 */
  int32_t rescoring;           /* 0; 1: by the attention decoder, when an utterance has ended */
  double first_pass_weight;    /* 0.5; of the score before rescoring, 0 to 100 */
  double reverse_weight;       /* 0; of the decoder from right to left, 0 to 1 */
  const char* language;        /* NULL: the model's default; one of runnel_model_language */
  double skip_silence_lead_s;  /* 0.6; audio before the sound that ends skipped silence */
  int64_t right_context;       /* RUNNEL_MODEL_DEFAULT; encoder frames; of offline models */
  int32_t show_special_tokens; /* 0; 1: texts show tokens that are not text, such as <en-US> */
  int32_t cached_windows;      /* 0; 1: windows compute their left context once */
} runnel_stream_options;

void runnel_stream_options_init(runnel_stream_options* options, size_t struct_size);

runnel_status runnel_stream_open(runnel_recognizer* recognizer,
                                 const runnel_stream_options* options, runnel_stream** stream,
                                 runnel_error* error);

/* Ends the stream, even if it is not decoded to its end, and frees the handle. No callback of the
   stream runs afterwards, so its user data may be freed. When the callback itself closes the
   stream, it is the last one. Closing the borrowed handle of a callback does nothing. */
void runnel_stream_close(runnel_stream* stream);

/* Mono samples in [-1, 1], or 16-bit samples. Never waits. Takes as many as the stream has room for
   and sets `accepted`; the caller offers the rest again. `accepted` is 0 when the stream is over. A
   sample that is NaN or beyond 100 in magnitude ends the stream with an error.
   RUNNEL_INVALID_ARGUMENT after runnel_stream_finish. */
runnel_status runnel_stream_accept_float32(runnel_stream* stream, const float* samples,
                                           size_t count, size_t* accepted, runnel_error* error);
runnel_status runnel_stream_accept_int16(runnel_stream* stream, const int16_t* samples,
                                         size_t count, size_t* accepted, runnel_error* error);

/* Samples that would be taken now. */
size_t runnel_stream_room(const runnel_stream* stream);

/* Calls `on_room` once, when at least half of the room is free, the stream waits for samples, or it
   is over: at once from this thread if that is so now. A second call before then replaces the first
   callback. */
typedef void (*runnel_room_callback)(void* user_data);
runnel_status runnel_stream_notify_room(runnel_stream* stream, runnel_room_callback on_room,
                                        void* user_data, runnel_error* error);

/* Ends the utterance after the samples accepted so far, as if the audio ended here. The update that
   brings it comes as soon as they are decoded, and the stream goes on. Does nothing after
   runnel_stream_finish. */
runnel_status runnel_stream_finalize_utterance(runnel_stream* stream, runnel_error* error);

/* Ends the audio: the rest is decoded, then comes the final update. */
runnel_status runnel_stream_finish(runnel_stream* stream, runnel_error* error);

/* Ends the stream: nothing more is decoded, no update comes, and no callback of it runs afterwards.
 */
runnel_status runnel_stream_cancel(runnel_stream* stream, runnel_error* error);

/* 1 when no update comes any more, except those that can be polled already. 1 for NULL. */
int32_t runnel_stream_is_over(const runnel_stream* stream);

/* Samples accepted since the start of the stream, including those before a restore or fork. */
int64_t runnel_stream_num_samples(const runnel_stream* stream);
/* The options in use, with the defaults resolved. */
int32_t runnel_stream_sample_rate_hz(const runnel_stream* stream);
int64_t runnel_stream_chunk_size(const runnel_stream* stream);
int64_t runnel_stream_left_context(const runnel_stream* stream);
int64_t runnel_stream_right_context(const runnel_stream* stream);
int32_t runnel_stream_cached_windows(const runnel_stream* stream);

/* For a stream without a callback: all updates since the last call, merged into one, or NULL when
   there are none. runnel_stream_wait waits for an update or the end of the stream, for `timeout_ms`
   at most. */
runnel_status runnel_stream_poll(runnel_stream* stream, runnel_update** update,
                                 runnel_error* error);
runnel_status runnel_stream_wait(runnel_stream* stream, double timeout_ms, runnel_update** update,
                                 runnel_error* error);

/* ---- Snapshots: a live stream as bytes, to continue in this or another process ---- */

/* The stream with all samples accepted so far. Waits for a chunk of it that is being decoded.
   RUNNEL_INVALID_ARGUMENT when it is cancelled or ends with an error. */
runnel_status runnel_stream_snapshot(runnel_stream* stream, runnel_buffer** snapshot,
                                     runnel_error* error);
const uint8_t* runnel_buffer_data(const runnel_buffer* buffer);
size_t runnel_buffer_size(const runnel_buffer* buffer);
void runnel_buffer_free(runnel_buffer* buffer);

/* The options of a stream that a snapshot does not hold. It holds the hotwords, and the level,
   weight and bonus of the language model. */
typedef struct runnel_restore_options {
  size_t struct_size;
  const runnel_word_list* word_list;           /* NULL; that of the stream, if it had one */
  const runnel_language_model* language_model; /* NULL; likewise. Prepared for this stream alone */
  int32_t nbest;                               /* 0: as the stream was opened with */
  runnel_update_callback on_update; /* NULL; may run before runnel_stream_restore returns */
  void* user_data;                  /* NULL */
} runnel_restore_options;

void runnel_restore_options_init(runnel_restore_options* options, size_t struct_size);

/* Continues from a snapshot, with bit-identical results on a machine with the same instruction set.
   Safe for any bytes: RUNNEL_BAD_DATA for those that are not a snapshot, damaged, of a newer format
   version, of another model, word list or language model. */
runnel_status runnel_stream_restore(runnel_recognizer* recognizer, const uint8_t* snapshot,
                                    size_t size, const runnel_restore_options* options,
                                    runnel_stream** stream, runnel_error* error);

/* A second stream that continues from this point independently. `on_update` NULL: its results are
   polled. */
runnel_status runnel_stream_fork(runnel_stream* stream, runnel_update_callback on_update,
                                 void* user_data, runnel_stream** fork, runnel_error* error);

/* ---- Updates: the utterances that ended, and the text of the one that is spoken now ---- */

/* Utterances that ended since the previous update, in order, each once. NULL for an index out of
   range. */
size_t runnel_update_num_utterances(const runnel_update* update);
const runnel_utterance* runnel_update_utterance(const runnel_update* update, size_t index);
/* Of the texts and tokens below, which belong to one utterance: its text is all its stable texts so
   far, followed by the tentative text. In the last update: of the last utterance. */
int64_t runnel_update_utterance_index(const runnel_update* update);

/* Text that became stable since the previous update. Later audio does not change it. */
const char* runnel_update_stable_text(const runnel_update* update);
/* The text after the stable text. It replaces the tentative text of the previous update. */
const char* runnel_update_tentative_text(const runnel_update* update);
/* Of the utterance's whole text so far: as runnel_hypothesis_begins_word. */
int32_t runnel_update_begins_word(const runnel_update* update);
/* Bytes of the utterance's stable text before this update's. 0 in its first update, and when a rule
   that ends an utterance found no text and it begins anew. The first update after a restore or fork
   repeats the whole text of the utterance. */
size_t runnel_update_stable_size_before(const runnel_update* update);
/* The texts cover the audio up to this time. */
double runnel_update_audio_ms(const runnel_update* update);
/* From the last sample of the newest chunk accepted until the update was made; 0 without a chunk.
 */
double runnel_update_latency_ms(const runnel_update* update);
/* 1 in the last update of a stream, which brings the last utterance unless it has an error. */
int32_t runnel_update_is_final(const runnel_update* update);
/* Why the stream ended without results, in one line; "" otherwise. */
const char* runnel_update_error(const runnel_update* update);

typedef struct runnel_token {
  size_t struct_size; /* set by the caller before the call: sizeof */
  int32_t id;         /* runnel_model_token */
  float confidence;   /* 0 to 1 */
  double start_ms;
  double end_ms; /* of an utterance's last token so far: may change */
  int64_t frame; /* first encoder frame that emits it, counted from the stream's start */
} runnel_token;

/* Tokens of the stable text, followed by those of the tentative text. */
size_t runnel_update_num_tokens(const runnel_update* update);
/* How many of them belong to the stable text. */
size_t runnel_update_num_stable_tokens(const runnel_update* update);
/* As runnel_update_stable_size_before, in tokens. */
size_t runnel_update_stable_tokens_before(const runnel_update* update);
runnel_status runnel_update_token(const runnel_update* update, size_t index, runnel_token* token,
                                  runnel_error* error);

runnel_status runnel_update_copy(const runnel_update* update, runnel_update** copy,
                                 runnel_error* error);
void runnel_update_free(runnel_update* update);

typedef struct runnel_word {
  size_t struct_size; /* set by the caller before the call: sizeof */
  const char* text;   /* borrowed from the update */
  float confidence;   /* lowest of its tokens */
  double start_ms;
  double end_ms;
} runnel_word;

/* A hotword that a hypothesis contains. */
typedef struct runnel_hotword_match {
  size_t struct_size; /* set by the caller before the call: sizeof */
  const char* phrase; /* as it is listed; borrowed from the update */
  double start_ms;
  double end_ms;
} runnel_hotword_match;

/* 0, 1, ... in the stream. */
int64_t runnel_utterance_index(const runnel_utterance* utterance);
/* From the start of the first to the end of the last token; without tokens: both are searched_ms.
 */
double runnel_utterance_start_ms(const runnel_utterance* utterance);
double runnel_utterance_end_ms(const runnel_utterance* utterance);
/* End of the audio that belongs to the utterance. */
double runnel_utterance_searched_ms(const runnel_utterance* utterance);
/* Why it ended. */
enum {
  RUNNEL_END_BY_ENDPOINT = 0,
  RUNNEL_END_BY_FINALIZE = 1,
  RUNNEL_END_BY_FINISH = 2,
  RUNNEL_END_BY_TOKEN = 3 /* an end token of the model, such as <EOU>, with endpointing */
};
int32_t runnel_utterance_end(const runnel_utterance* utterance);
/* Best first, at least one, no two with the same text. NULL for an index out of range. */
size_t runnel_utterance_num_hypotheses(const runnel_utterance* utterance);
const runnel_hypothesis* runnel_utterance_hypothesis(const runnel_utterance* utterance,
                                                     size_t index);

/* The whole text of the utterance. */
const char* runnel_hypothesis_text(const runnel_hypothesis* hypothesis);
/* 1: a space comes before (after) the text where it is joined with that of the utterance before
   (after). 0: the utterance begins (ends) within a word, or the model's text has no spaces. */
int32_t runnel_hypothesis_begins_word(const runnel_hypothesis* hypothesis);
int32_t runnel_hypothesis_ends_word(const runnel_hypothesis* hypothesis);
/* Natural logarithm of its probability under the model, of its best alignment only with greedy
   search; plus what hotwords and language model add. With rescoring: the weighted sum. */
double runnel_hypothesis_score(const runnel_hypothesis* hypothesis);
/* Mean confidence of its words, 0 to 1; 0 without words. */
float runnel_hypothesis_confidence(const runnel_hypothesis* hypothesis);
/* As the model found it, such as "en-US"; "" if it has no tokens that tell one. */
const char* runnel_hypothesis_language(const runnel_hypothesis* hypothesis);
size_t runnel_hypothesis_num_tokens(const runnel_hypothesis* hypothesis);
runnel_status runnel_hypothesis_token(const runnel_hypothesis* hypothesis, size_t index,
                                      runnel_token* token, runnel_error* error);
size_t runnel_hypothesis_num_words(const runnel_hypothesis* hypothesis);
runnel_status runnel_hypothesis_word(const runnel_hypothesis* hypothesis, size_t index,
                                     runnel_word* word, runnel_error* error);
/* In the order of their ends; of those that end at the same place, the longest. */
size_t runnel_hypothesis_num_hotwords(const runnel_hypothesis* hypothesis);
runnel_status runnel_hypothesis_hotword(const runnel_hypothesis* hypothesis, size_t index,
                                        runnel_hotword_match* match, runnel_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RUNNEL_RUNTIME_C_API_H_ */
