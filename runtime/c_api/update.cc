// The functions of runtime/c_api.h for updates and hypotheses.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/sized_struct.h"

using runnel::HotwordMatch;
using runnel::Hypothesis;
using runnel::LiveUpdate;
using runnel::Token;
using runnel::UtteranceEnd;
using runnel::Word;
using runnel::c_api::Call;
using runnel::c_api::FromC;
using runnel::c_api::NotNull;

namespace {

template <typename T>
const T& At(const std::vector<T>& values, size_t index) {
  if (index < values.size()) return values[index];
  throw std::invalid_argument("index is " + std::to_string(index) + ", expected less than " +
                              std::to_string(values.size()));
}

void WriteToken(const std::vector<Token>& tokens, size_t index, runnel_token* target) {
  const Token& token = At(tokens, index);
  const runnel_token c = {sizeof(runnel_token), token.id,     token.confidence,
                          token.start_ms,       token.end_ms, token.frame};
  runnel::c_api::Write(c, target, "runnel_token");
}

}  // namespace

runnel_update* runnel::c_api::GiveToC(std::unique_ptr<LiveUpdate> update) {
  return reinterpret_cast<runnel_update*>(update.release());
}

const char* runnel_update_stable_text(const runnel_update* update) {
  return update == nullptr ? "" : FromC(*update).stable_text.c_str();
}

const char* runnel_update_tentative_text(const runnel_update* update) {
  return update == nullptr ? "" : FromC(*update).tentative_text.c_str();
}

size_t runnel_update_stable_size_before(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).stable_size_before;
}

int32_t runnel_update_begins_word(const runnel_update* update) {
  return update != nullptr && FromC(*update).begins_word ? 1 : 0;
}

double runnel_update_audio_ms(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).audio_ms;
}

double runnel_update_latency_ms(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).latency_ms;
}

int32_t runnel_update_is_final(const runnel_update* update) {
  return update != nullptr && FromC(*update).is_final ? 1 : 0;
}

const char* runnel_update_error(const runnel_update* update) {
  return update == nullptr ? "" : FromC(*update).error.c_str();
}

size_t runnel_update_num_tokens(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).tokens.size();
}

size_t runnel_update_num_stable_tokens(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).num_stable_tokens;
}

size_t runnel_update_stable_tokens_before(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).stable_tokens_before;
}

runnel_status runnel_update_token(const runnel_update* update, size_t index, runnel_token* token,
                                  runnel_error* error) {
  return Call(error, [&] { WriteToken(FromC(NotNull(update, "update")).tokens, index, token); });
}

size_t runnel_update_num_utterances(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).utterances.size();
}

const runnel_utterance* runnel_update_utterance(const runnel_update* update, size_t index) {
  if (index >= runnel_update_num_utterances(update)) return nullptr;
  return runnel::c_api::ToC(&FromC(*update).utterances[index]);
}

int64_t runnel_update_utterance_index(const runnel_update* update) {
  return update == nullptr ? 0 : FromC(*update).utterance_index;
}

int64_t runnel_utterance_index(const runnel_utterance* utterance) {
  return utterance == nullptr ? 0 : FromC(*utterance).index;
}

double runnel_utterance_start_ms(const runnel_utterance* utterance) {
  return utterance == nullptr ? 0 : FromC(*utterance).start_ms;
}

double runnel_utterance_end_ms(const runnel_utterance* utterance) {
  return utterance == nullptr ? 0 : FromC(*utterance).end_ms;
}

double runnel_utterance_searched_ms(const runnel_utterance* utterance) {
  return utterance == nullptr ? 0 : FromC(*utterance).searched_ms;
}

int32_t runnel_utterance_end(const runnel_utterance* utterance) {
  const UtteranceEnd end = utterance == nullptr ? UtteranceEnd::kFinish : FromC(*utterance).end;
  switch (end) {
    case UtteranceEnd::kEndpoint:
      return RUNNEL_END_BY_ENDPOINT;
    case UtteranceEnd::kFinalize:
      return RUNNEL_END_BY_FINALIZE;
    case UtteranceEnd::kFinish:
      return RUNNEL_END_BY_FINISH;
    case UtteranceEnd::kEndToken:
      return RUNNEL_END_BY_TOKEN;
  }
  return RUNNEL_END_BY_FINISH;
}

size_t runnel_utterance_num_hypotheses(const runnel_utterance* utterance) {
  return utterance == nullptr ? 0 : FromC(*utterance).nbest.size();
}

const runnel_hypothesis* runnel_utterance_hypothesis(const runnel_utterance* utterance,
                                                     size_t index) {
  if (index >= runnel_utterance_num_hypotheses(utterance)) return nullptr;
  return runnel::c_api::ToC(&FromC(*utterance).nbest[index]);
}

runnel_status runnel_update_copy(const runnel_update* update, runnel_update** copy,
                                 runnel_error* error) {
  return Call(error, [&] {
    NotNull(copy, "copy") = nullptr;
    *copy = runnel::c_api::GiveToC(std::make_unique<LiveUpdate>(FromC(NotNull(update, "update"))));
  });
}

void runnel_update_free(runnel_update* update) { delete reinterpret_cast<LiveUpdate*>(update); }

const char* runnel_hypothesis_text(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? "" : FromC(*hypothesis).text.c_str();
}

int32_t runnel_hypothesis_begins_word(const runnel_hypothesis* hypothesis) {
  return hypothesis != nullptr && FromC(*hypothesis).begins_word ? 1 : 0;
}

int32_t runnel_hypothesis_ends_word(const runnel_hypothesis* hypothesis) {
  return hypothesis != nullptr && FromC(*hypothesis).ends_word ? 1 : 0;
}

const char* runnel_hypothesis_language(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? "" : FromC(*hypothesis).language.c_str();
}

double runnel_hypothesis_score(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? 0 : FromC(*hypothesis).score;
}

float runnel_hypothesis_confidence(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? 0 : FromC(*hypothesis).confidence;
}

size_t runnel_hypothesis_num_tokens(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? 0 : FromC(*hypothesis).tokens.size();
}

runnel_status runnel_hypothesis_token(const runnel_hypothesis* hypothesis, size_t index,
                                      runnel_token* token, runnel_error* error) {
  return Call(error,
              [&] { WriteToken(FromC(NotNull(hypothesis, "hypothesis")).tokens, index, token); });
}

size_t runnel_hypothesis_num_words(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? 0 : FromC(*hypothesis).words.size();
}

runnel_status runnel_hypothesis_word(const runnel_hypothesis* hypothesis, size_t index,
                                     runnel_word* word, runnel_error* error) {
  return Call(error, [&] {
    const Word& found = At(FromC(NotNull(hypothesis, "hypothesis")).words, index);
    const runnel_word c = {sizeof(runnel_word), found.text.c_str(), found.confidence,
                           found.start_ms, found.end_ms};
    runnel::c_api::Write(c, word, "runnel_word");
  });
}

size_t runnel_hypothesis_num_hotwords(const runnel_hypothesis* hypothesis) {
  return hypothesis == nullptr ? 0 : FromC(*hypothesis).hotwords.size();
}

runnel_status runnel_hypothesis_hotword(const runnel_hypothesis* hypothesis, size_t index,
                                        runnel_hotword_match* match, runnel_error* error) {
  return Call(error, [&] {
    const HotwordMatch& found = At(FromC(NotNull(hypothesis, "hypothesis")).hotwords, index);
    const runnel_hotword_match c = {sizeof(runnel_hotword_match), found.phrase.c_str(),
                                    found.start_ms, found.end_ms};
    runnel::c_api::Write(c, match, "runnel_hotword_match");
  });
}
