#include "runtime/python/results.h"

#include <algorithm>

namespace runnel::python {
namespace {

Object Class(const char* name) { return Import("runnel.results").Attribute(name); }

template <typename Items, typename Make>
Object TupleOf(const Items& items, const Make& make) {
  std::vector<Object> objects;
  for (const auto& item : items) objects.push_back(make(item));
  return python::TupleOf(objects);
}

Object TokensOf(const std::vector<Token>& tokens, const TokenTable& table) {
  const Object type = Class("Token");
  return TupleOf(tokens, [&](const Token& token) {
    return Call(type, {{"id", token.id},
                       {"name", table.name(token.id)},
                       {"start_ms", token.start_ms},
                       {"end_ms", token.end_ms},
                       {"confidence", token.confidence},
                       {"frame", token.frame}});
  });
}

Object WordsOf(const std::vector<Word>& words) {
  const Object type = Class("Word");
  return TupleOf(words, [&](const Word& word) {
    return Call(type, {{"text", word.text},
                       {"start_ms", word.start_ms},
                       {"end_ms", word.end_ms},
                       {"confidence", word.confidence}});
  });
}

Object HotwordsOf(const std::vector<HotwordMatch>& matches) {
  const Object type = Class("HotwordMatch");
  return TupleOf(matches, [&](const HotwordMatch& match) {
    return Call(type,
                {{"phrase", match.phrase}, {"start_ms", match.start_ms}, {"end_ms", match.end_ms}});
  });
}

}  // namespace

Object ToPython(const Hypothesis& hypothesis, const TokenTable& tokens) {
  return Call(Class("Hypothesis"), {{"text", hypothesis.text},
                                    {"begins_word", hypothesis.begins_word},
                                    {"ends_word", hypothesis.ends_word},
                                    {"language", hypothesis.language},
                                    {"score", hypothesis.score},
                                    {"confidence", hypothesis.confidence},
                                    {"tokens", TokensOf(hypothesis.tokens, tokens)},
                                    {"words", WordsOf(hypothesis.words)},
                                    {"hotwords", HotwordsOf(hypothesis.hotwords)}});
}

Object ToPython(const Utterance& utterance, const TokenTable& tokens) {
  return Call(Class("Utterance"),
              {{"index", utterance.index},
               {"start_ms", utterance.start_ms},
               {"end_ms", utterance.end_ms},
               {"searched_ms", utterance.searched_ms},
               {"end", NameOf(utterance.end)},
               {"latency_ms", utterance.latency_ms},
               {"nbest", TupleOf(utterance.nbest, [&](const Hypothesis& hypothesis) {
                  return ToPython(hypothesis, tokens);
                })}});
}

Object ToPython(const StreamingConfig& streaming) {
  return Call(
      Class("StreamingConfig"),
      {{"chunk_size", streaming.chunk_size},
       {"left_context", streaming.left_context},
       {"min_chunk_size", streaming.min_chunk_size},
       {"max_chunk_size", streaming.max_chunk_size},
       {"max_left_context", streaming.max_left_context},
       {"only", TupleOf(streaming.only,
                        [](const StreamingSetting& setting) {
                          return python::TupleOf(
                              {ToObject(setting.chunk_size), ToObject(setting.left_context)});
                        })},
       {"window", streaming.window ? python::TupleOf({ToObject(streaming.window->chunk_size),
                                                      ToObject(streaming.window->left_context),
                                                      ToObject(streaming.window->right_context)})
                                   : python::None()}});
}

Object ToPython(const RecognizerStatus& status) {
  return Call(Class("RecognizerStatus"), {{"num_streams", status.num_streams},
                                          {"queued_streams", status.queued_streams},
                                          {"num_batches", status.num_batches},
                                          {"num_chunks", status.num_chunks},
                                          {"audio_s", status.audio_s},
                                          {"compute_s", status.compute_s},
                                          {"queue_ms_p50", status.queue_ms_p50},
                                          {"queue_ms_p95", status.queue_ms_p95},
                                          {"chunk_ms_p50", status.chunk_ms_p50},
                                          {"chunk_ms_p95", status.chunk_ms_p95},
                                          {"chunk_ms_p99", status.chunk_ms_p99}});
}

Object LiveText::Add(const LiveUpdate& update, const TokenTable& tokens) {
  stable_text_.resize(update.stable_size_before);
  const auto is_first_byte = [](char byte) { return (byte & 0xC0) != 0x80; };  // UTF-8
  const auto stable_size_before =
      std::count_if(stable_text_.begin(), stable_text_.end(), is_first_byte);
  stable_text_ += update.stable_text;
  return Call(Class("LiveUpdate"), {{"utterances", TupleOf(update.utterances,
                                                           [&](const Utterance& utterance) {
                                                             return ToPython(utterance, tokens);
                                                           })},
                                    {"utterance_index", update.utterance_index},
                                    {"text", stable_text_ + update.tentative_text},
                                    {"begins_word", update.begins_word},
                                    {"stable_text", update.stable_text},
                                    {"tentative_text", update.tentative_text},
                                    {"stable_size_before", stable_size_before},
                                    {"tokens", TokensOf(update.tokens, tokens)},
                                    {"num_stable_tokens", update.num_stable_tokens},
                                    {"stable_tokens_before", update.stable_tokens_before},
                                    {"num_empty_finalizations", update.num_empty_finalizations},
                                    {"audio_ms", update.audio_ms},
                                    {"latency_ms", update.latency_ms},
                                    {"is_final", update.is_final},
                                    {"error", update.error}});
}

}  // namespace runnel::python
