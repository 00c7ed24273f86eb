/* Recognises 16-bit PCM from standard input as it arrives: arecord ... | live MODEL SAMPLE_RATE */
#include <runtime/c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static runnel_error* error;
static char* stable_text; /* every update appends to it */

static void check(runnel_status status) {
  if (status == RUNNEL_OK) return;
  fprintf(stderr, "live: %s\n", runnel_error_message(error));
  exit(1);
}

/* Shows an update and frees it; 1 if it was the last one. */
static int show(runnel_update* update) {
  const char* more = runnel_update_stable_text(update);
  const int is_final = runnel_update_is_final(update);
  stable_text = realloc(stable_text, runnel_update_stable_size_before(update) + strlen(more) + 1);
  if (stable_text == NULL) exit(1);
  strcpy(stable_text + runnel_update_stable_size_before(update), more);
  if (*runnel_update_error(update) != '\0') {
    fprintf(stderr, "live: %s\n", runnel_update_error(update));
    exit(1);
  }
  printf("%s%s%s\n", is_final ? "" : "partial: ", stable_text,
         runnel_update_tentative_text(update));
  fflush(stdout);
  runnel_update_free(update);
  return is_final;
}

int main(int argc, char** argv) {
  runnel_model* model = NULL;
  runnel_recognizer* recognizer = NULL;
  runnel_stream* stream = NULL;
  runnel_update* update = NULL;
  runnel_stream_options options;
  int16_t packet[1600];
  size_t count = 0;
  long rate = 0;
  char* rest = NULL;

  if (argc != 3) {
    fprintf(stderr, "usage: live MODEL SAMPLE_RATE < PCM16\n");
    return 2;
  }
  rate = strtol(argv[2], &rest, 10);
  if (rest == argv[2] || *rest != '\0' || rate != (int32_t)rate) {
    fprintf(stderr, "live: SAMPLE_RATE is '%s', expected a number of Hz\n", argv[2]);
    return 2;
  }
  error = runnel_error_create();
  check(runnel_model_load(argv[1], NULL, &model, error));
  check(runnel_recognizer_create(model, NULL, &recognizer, error));
  runnel_stream_options_init(&options, sizeof options);
  options.sample_rate_hz = (int32_t)rate; /* any rate; audio is resampled to that of the model */
  check(runnel_stream_open(recognizer, &options, &stream, error));

  while (!runnel_stream_is_over(stream) &&
         (count = fread(packet, sizeof *packet, sizeof packet / sizeof *packet, stdin)) > 0) {
    size_t sent = 0;
    while (sent < count && !runnel_stream_is_over(stream)) {
      size_t accepted = 0;
      check(runnel_stream_accept_int16(stream, packet + sent, count - sent, &accepted, error));
      sent += accepted;
      /* Polls; waits only while the stream has no room for the rest. */
      check(runnel_stream_wait(stream, sent < count ? 100 : 0, &update, error));
      if (update != NULL) show(update);
    }
  }
  check(runnel_stream_finish(stream, error));
  do {
    check(runnel_stream_wait(stream, 1000, &update, error));
  } while (update == NULL || !show(update));

  runnel_stream_close(stream);
  runnel_recognizer_free(recognizer);
  runnel_model_free(model);
  runnel_error_free(error);
  free(stable_text);
  return 0;
}
