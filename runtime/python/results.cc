#include "runtime/python/results.h"

#include <pybind11/stl.h>

#include <algorithm>

namespace py = pybind11;
using py::literals::operator""_a;

namespace runnel::python {
namespace {

py::object Class(const char* name) { return py::module_::import("runnel.results").attr(name); }

template <typename Items, typename Make>
py::tuple TupleOf(const Items& items, const Make& make) {
  py::tuple tuple(items.size());
  for (size_t i = 0; i < items.size(); ++i) tuple[i] = make(items[i]);
  return tuple;
}

py::tuple TokensOf(const std::vector<Token>& tokens, const TokenTable& table) {
  const py::object type = Class("Token");
  return TupleOf(tokens, [&](const Token& token) {
    return type("id"_a = token.id, "name"_a = table.name(token.id), "start_ms"_a = token.start_ms,
                "end_ms"_a = token.end_ms, "confidence"_a = token.confidence,
                "frame"_a = token.frame);
  });
}

py::tuple WordsOf(const std::vector<Word>& words) {
  const py::object type = Class("Word");
  return TupleOf(words, [&](const Word& word) {
    return type("text"_a = word.text, "start_ms"_a = word.start_ms, "end_ms"_a = word.end_ms,
                "confidence"_a = word.confidence);
  });
}

py::tuple HotwordsOf(const std::vector<HotwordMatch>& matches) {
  const py::object type = Class("HotwordMatch");
  return TupleOf(matches, [&](const HotwordMatch& match) {
    return type("phrase"_a = match.phrase, "start_ms"_a = match.start_ms,
                "end_ms"_a = match.end_ms);
  });
}

}  // namespace

py::object ToPython(const Hypothesis& hypothesis, const TokenTable& tokens) {
  return Class("Hypothesis")(
      "text"_a = hypothesis.text, "begins_word"_a = hypothesis.begins_word,
      "ends_word"_a = hypothesis.ends_word, "score"_a = hypothesis.score,
      "confidence"_a = hypothesis.confidence, "tokens"_a = TokensOf(hypothesis.tokens, tokens),
      "words"_a = WordsOf(hypothesis.words), "hotwords"_a = HotwordsOf(hypothesis.hotwords));
}

py::object ToPython(const Utterance& utterance, const TokenTable& tokens) {
  return Class("Utterance")("index"_a = utterance.index, "start_ms"_a = utterance.start_ms,
                            "end_ms"_a = utterance.end_ms, "searched_ms"_a = utterance.searched_ms,
                            "end"_a = NameOf(utterance.end), "latency_ms"_a = utterance.latency_ms,
                            "nbest"_a = TupleOf(utterance.nbest, [&](const Hypothesis& hypothesis) {
                              return ToPython(hypothesis, tokens);
                            }));
}

py::object ToPython(const StreamingConfig& streaming) {
  return Class("StreamingConfig")(
      "chunk_size"_a = streaming.chunk_size, "left_context"_a = streaming.left_context,
      "min_chunk_size"_a = streaming.min_chunk_size, "max_chunk_size"_a = streaming.max_chunk_size,
      "max_left_context"_a = streaming.max_left_context,
      "only"_a = TupleOf(streaming.only, [](const StreamingSetting& setting) {
        return py::make_tuple(setting.chunk_size, setting.left_context);
      }));
}

py::object ToPython(const RecognizerStatus& status) {
  return Class("RecognizerStatus")(
      "num_streams"_a = status.num_streams, "queued_streams"_a = status.queued_streams,
      "num_batches"_a = status.num_batches, "num_chunks"_a = status.num_chunks,
      "audio_s"_a = status.audio_s, "compute_s"_a = status.compute_s,
      "queue_ms_p50"_a = status.queue_ms_p50, "queue_ms_p95"_a = status.queue_ms_p95,
      "chunk_ms_p50"_a = status.chunk_ms_p50, "chunk_ms_p95"_a = status.chunk_ms_p95,
      "chunk_ms_p99"_a = status.chunk_ms_p99);
}

py::object LiveText::Add(const LiveUpdate& update, const TokenTable& tokens) {
  stable_text_.resize(update.stable_size_before);
  const auto is_first_byte = [](char byte) { return (byte & 0xC0) != 0x80; };  // UTF-8
  const auto stable_size_before =
      std::count_if(stable_text_.begin(), stable_text_.end(), is_first_byte);
  stable_text_ += update.stable_text;
  py::list utterances;
  for (const Utterance& utterance : update.utterances) {
    utterances.append(ToPython(utterance, tokens));
  }
  return Class("LiveUpdate")(
      "utterances"_a = py::tuple(utterances), "utterance_index"_a = update.utterance_index,
      "text"_a = stable_text_ + update.tentative_text, "begins_word"_a = update.begins_word,
      "stable_text"_a = update.stable_text, "tentative_text"_a = update.tentative_text,
      "stable_size_before"_a = stable_size_before, "tokens"_a = TokensOf(update.tokens, tokens),
      "num_stable_tokens"_a = update.num_stable_tokens,
      "stable_tokens_before"_a = update.stable_tokens_before,
      "num_empty_finalizations"_a = update.num_empty_finalizations, "audio_ms"_a = update.audio_ms,
      "latency_ms"_a = update.latency_ms, "is_final"_a = update.is_final, "error"_a = update.error);
}

}  // namespace runnel::python
