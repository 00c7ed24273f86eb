"""Searches over a transducer, and scores of a second pass: the executable specification.

The functions take any module with the methods of SpeechModel (a model file's TorchScript too), in
float32 or float64. They compute one stream, one hypothesis at a time, for readers; the C++ searches
compute many at once and give the same. Scores are natural logarithms. Frames are encoder frames
from the start of the utterance. End tokens are specified for greedy search; in beams, too, a frame
has no more tokens after one, and the predictor begins anew.
"""

import dataclasses
import math
from typing import Any, Collection, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from models.reference.transducer import TransducerConfig

Prefix = Tuple[int, ...]


@dataclasses.dataclass
class Step:
    """One evaluation of the joint in greedy search."""

    frame: int
    label: int  # token or blank
    log_probs: Tensor  # (vocab_size), over tokens and blank alone
    duration: int  # frames that TDT predicts; otherwise 0 for a token and 1 for the blank
    duration_log_probs: Tensor  # (number of durations), over durations alone
    advance: int  # frames to the next step's


@dataclasses.dataclass
class Prediction:
    """A predictor after some tokens: its output (1, P) and its state (1, ...)."""

    output: Tensor
    state: Tensor


def first_prediction(model: Any, config: TransducerConfig) -> Prediction:
    """The predictor at the start of an utterance: fed the blank, in the initial state."""
    return next_prediction(model, config.blank_id, model.initial_predictor_state(1))


def next_prediction(model: Any, token: int, state: Tensor) -> Prediction:
    """The predictor after one more token."""
    with torch.no_grad():
        return Prediction(*model.predictor_step(torch.tensor([token]), state))


def scores(model: Any, config: TransducerConfig, row: Tensor,
           prediction: Prediction) -> Tuple[Tensor, Tensor]:
    """Log probabilities of labels (vocab_size) and of durations, each group normalised alone.

    Args:
        row: (d), the heads' input of one frame (after the prompt, if there is one).
    """
    with torch.no_grad():
        logits = model.joint(row.unsqueeze(0), prediction.output)[0]
    return (torch.log_softmax(logits[:config.vocab_size], 0),
            torch.log_softmax(logits[config.vocab_size:], 0))


class Greedy:
    """Greedy search of one stream; call `advance` with its encoder frames, in pieces of any size.

    The state between pieces is the predictor after the last token, and the frames that a duration
    reached beyond the piece's end.
    """

    def __init__(self, model: Any, config: TransducerConfig,
                 max_symbols: Optional[int] = None, end_tokens: Collection[int] = ()) -> None:
        """max_symbols: most tokens of one frame; None: the model's. end_tokens: of an utterance."""
        self._model, self._config = model, config
        self._max_symbols = max_symbols or config.max_symbols
        self._end_tokens = end_tokens
        self.prediction = first_prediction(model, config)
        self.skip = 0  # frames of the next piece that are jumped over
        self.frames = 0  # encoder frames so far
        self.steps: List[Step] = []

    def advance(self, rows: Tensor) -> None:
        """Decodes the heads' input (T, d) of the next T frames."""
        t, symbols = self.skip, 0  # symbols: tokens emitted on frame t
        while t < rows.size(0):
            step = self._step(rows[t], self.frames + t, symbols)
            self.steps.append(step)
            if step.label in self._end_tokens:
                self.prediction = first_prediction(self._model, self._config)
            elif step.label != self._config.blank_id:
                self.prediction = next_prediction(self._model, step.label, self.prediction.state)
                symbols += 1
            if step.advance > 0:
                t, symbols = t + step.advance, 0
        self.skip = t - rows.size(0)
        self.frames += rows.size(0)

    def _step(self, row: Tensor, frame: int, symbols: int) -> Step:
        labels, durations = scores(self._model, self._config, row, self.prediction)
        label = int(labels.argmax())
        blank = label == self._config.blank_id
        if self._config.durations:
            duration = self._config.durations[int(durations.argmax())]
        else:
            duration = 1 if blank else 0
        stays = (duration == 0 and not blank and symbols + 1 < self._max_symbols
                 and label not in self._end_tokens)
        return Step(frame, label, labels, duration, durations, 0 if stays else max(duration, 1))

    def tokens(self) -> List[Step]:
        """The steps that emitted a token."""
        return [step for step in self.steps if step.label != self._config.blank_id]


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a beam."""

    tokens: Prefix = ()
    frames: Prefix = ()  # of the tokens
    score: float = 0.0

    def plus(self, token: int, frame: int, score: float) -> "Hypothesis":
        """With one more token and another score."""
        return Hypothesis((*self.tokens, token), (*self.frames, frame), score)

    def scored(self, score: float) -> "Hypothesis":
        """With another score."""
        return dataclasses.replace(self, score=score)


def best(hypotheses: Sequence[Hypothesis], count: int) -> List[Hypothesis]:
    """By descending score; among equal scores by ascending tokens."""
    return sorted(hypotheses, key=lambda one: (-one.score, one.tokens))[:count]


def logaddexp(a: float, b: float) -> float:
    """ln(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def merge(hypotheses: Sequence[Hypothesis]) -> List[Hypothesis]:
    """Adds the probabilities of equal token sequences; frames are those of the first."""
    merged: Dict[Prefix, Hypothesis] = {}
    for one in hypotheses:
        known = merged.get(one.tokens)
        merged[one.tokens] = (one if known is None
                              else known.scored(logaddexp(known.score, one.score)))
    return list(merged.values())


class _Predictions:
    """The predictor after each prefix that a beam reaches."""

    def __init__(self, model: Any, config: TransducerConfig) -> None:
        self._model = model
        self._known: Dict[Prefix, Prediction] = {(): first_prediction(model, config)}

    def after(self, prefix: Prefix) -> Prediction:
        """Computed once per prefix, from that of the prefix without its last token."""
        if prefix not in self._known:
            state = self.after(prefix[:-1]).state
            self._known[prefix] = next_prediction(self._model, prefix[-1], state)
        return self._known[prefix]


class TimeSynchronousBeam:
    """Beam search with several tokens per frame (Saon et al. 2020, algorithm 1), TDT included.

    On frame t a level holds hypotheses with the same number of tokens emitted on t. Each label
    moves on by its duration: 0 leads to the next level, d > 0 to frame t + d (RNN-T: 0 for tokens,
    1 for the blank; a blank of duration 0 counts as 1). For each later frame, equal token
    sequences are merged and the beam's best are kept. After max_symbols tokens on one frame only
    labels with a duration above 0 remain.
    """

    def __init__(self, model: Any, config: TransducerConfig, beam_size: int,
                 max_symbols: Optional[int] = None) -> None:
        self._model, self._config, self._beam_size = model, config, beam_size
        self._max_symbols = max_symbols or config.max_symbols
        self._predictions = _Predictions(model, config)
        self._frame = 0
        self._arriving: Dict[int, List[Hypothesis]] = {0: [Hypothesis()]}  # by frame

    def advance(self, rows: Tensor) -> None:
        """Decodes the heads' input (T, d) of the next T frames."""
        for row in rows:
            level = best(merge(self._arriving.pop(self._frame, [])), self._beam_size)
            for _ in range(self._max_symbols + 1):
                candidates = []
                for hypothesis in level:
                    candidates += self._expand(row, hypothesis)
                level = best(candidates, self._beam_size)
            for frame, group in self._arriving.items():
                self._arriving[frame] = best(merge(group), self._beam_size)
            self._frame += 1

    def _expand(self, row: Tensor, hypothesis: Hypothesis) -> List[Hypothesis]:
        """Sends a hypothesis on to later frames; returns those that stay on this one."""
        labels, durations = scores(self._model, self._config, row,
                                   self._predictions.after(hypothesis.tokens))
        staying = []
        for label, log_prob in enumerate(labels.tolist()):
            blank = label == self._config.blank_id
            moves = (zip(self._config.durations, durations.tolist()) if self._config.durations
                     else [(1 if blank else 0, 0.0)])
            for duration, duration_log_prob in moves:
                score = hypothesis.score + log_prob + duration_log_prob
                moved = (hypothesis.scored(score) if blank
                         else hypothesis.plus(label, self._frame, score))
                if duration == 0 and not blank:
                    staying.append(moved)
                else:
                    frame = self._frame + max(duration, 1)
                    self._arriving.setdefault(frame, []).append(moved)
        return staying

    def nbest(self) -> List[Hypothesis]:
        """The beam's best, wherever their durations lead, best first."""
        return best(merge([one for _, group in sorted(self._arriving.items()) for one in group]),
                    self._beam_size)


class ModifiedBeam:
    """icefall's modified beam search: exactly one label, token or blank, per frame.

    The best `beam_size` of all pairs of hypothesis and label remain. Then equal token sequences are
    merged, so that fewer than `beam_size` can remain.
    """

    def __init__(self, model: Any, config: TransducerConfig, beam_size: int) -> None:
        self._model, self._config, self._beam_size = model, config, beam_size
        self._predictions = _Predictions(model, config)
        self._frame = 0
        self._hypotheses = [Hypothesis()]

    def advance(self, rows: Tensor) -> None:
        """Decodes the heads' input (T, d) of the next T frames."""
        for row in rows:
            self._advance_by([self._log_probs(row, one) for one in self._hypotheses])

    def _log_probs(self, row: Tensor, hypothesis: Hypothesis) -> Tensor:
        """Log probabilities (vocab_size) of the labels of a frame."""
        return scores(self._model, self._config, row,
                      self._predictions.after(hypothesis.tokens))[0]

    def _advance_by(self, log_probs: Sequence[Tensor]) -> None:
        """One frame, by the log probabilities of its labels after each hypothesis."""
        expanded = [[one.scored(one.score + log_prob) if label == self._config.blank_id
                     else one.plus(label, self._frame, one.score + log_prob)
                     for label, log_prob in enumerate(labels.tolist())]
                    for one, labels in zip(self._hypotheses, log_probs)]
        self._hypotheses = self._select(expanded)
        self._frame += 1

    def _select(self, expanded: Sequence[List[Hypothesis]]) -> List[Hypothesis]:
        """The next hypotheses, given those that each present one can become."""
        chosen = best([one for group in expanded for one in group], self._beam_size)
        return best(merge(chosen), self._beam_size)

    def nbest(self) -> List[Hypothesis]:
        """Best first."""
        return self._hypotheses


class FusedBeam(ModifiedBeam):
    """WeNet's prefix beam search: one label per frame, scored by transducer and CTC head.

    A label scores ln(transducer_weight p + ctc_weight p_ctc). Of each hypothesis the best
    `beam_size` labels are taken, equal token sequences are merged, and the best `beam_size` remain.
    """

    def __init__(self, model: Any, config: TransducerConfig, beam_size: int,
                 transducer_weight: float = 0.7, ctc_weight: float = 0.3) -> None:
        super().__init__(model, config, beam_size)
        self._transducer_weight, self._ctc_weight = transducer_weight, ctc_weight

    def advance_with_ctc(self, rows: Tensor, ctc_log_probs: Tensor) -> None:
        """Decodes the heads' input (T, d) and CTC log probabilities (T, vocab_size)."""
        for row, ctc in zip(rows, ctc_log_probs):
            self._advance_by([
                torch.log(self._transducer_weight * self._log_probs(row, one).exp()
                          + self._ctc_weight * ctc.exp()) for one in self._hypotheses])

    def _select(self, expanded: Sequence[List[Hypothesis]]) -> List[Hypothesis]:
        """As in ModifiedBeam, in the other order."""
        chosen = [one for group in expanded for one in best(group, self._beam_size)]
        return best(merge(chosen), self._beam_size)


def attention_scores(model: Any, encoded: Tensor, nbest: Sequence[Sequence[int]], eos_id: int,
                     reverse: bool) -> Tensor:
    """ln p(tokens, eos | encoded) of each hypothesis by the attention decoder, (N).

    Args:
        encoded: (T, d), the encoder frames of the utterance.
        reverse: by the decoder from right to left, of the reversed tokens.
    """
    lengths = torch.tensor([len(tokens) for tokens in nbest])
    padded = torch.full([len(nbest), int(lengths.max())], eos_id, dtype=torch.int64)
    for i, tokens in enumerate(nbest):
        padded[i, :len(tokens)] = torch.tensor(list(tokens), dtype=torch.int64)
    memory = encoded.unsqueeze(0).expand(len(nbest), -1, -1)
    with torch.no_grad():
        log_probs = model.decoder_log_probs(
            memory, torch.full_like(lengths, encoded.size(0)), padded, lengths, reverse)
    sums = []
    for i, tokens in enumerate(nbest):
        targets = [*(reversed(tokens) if reverse else tokens), eos_id]
        sums.append(sum(log_probs[i, row, target] for row, target in enumerate(targets)))
    return torch.stack(sums)


def rescored(first_pass: Tensor, left: Tensor, right: Optional[Tensor], first_pass_weight: float,
             reverse_weight: float) -> Tensor:
    """(1 - r) left + r right + w first pass, (N); the best hypothesis has the largest.

    Args:
        first_pass: scores of the search, (N). left, right: from `attention_scores`; right may be
            None if reverse_weight is 0.
    """
    total = (1.0 - reverse_weight) * left + first_pass_weight * first_pass
    return total if right is None else total + reverse_weight * right
