"""Results: utterances and hypotheses with their tokens and words.

Times are in milliseconds of audio from the start of the stream. The fields are those of
runtime/result.h. repr() is one short line, with the text.
"""

import dataclasses
from typing import Iterable, Optional, Tuple

_SHOWN = 200  # characters of a recording's text in its repr()


@dataclasses.dataclass(frozen=True)
class Token:
    """One token of a hypothesis."""

    id: int  # index in Model.tokens
    name: str  # as in units.txt; U+2581 is a word boundary
    # Start of the first encoder frame that emits it, and end of the last one, at most the start of
    # the next token. Punctuation with TDT, and a special token, starts and ends where the token
    # before it ends.
    start_ms: float
    end_ms: float
    confidence: float  # its probability in these frames, 0 to 1
    frame: int  # the first encoder frame that emits it


@dataclasses.dataclass(frozen=True)
class Word:
    """One word: between two word boundaries, or a character of a script without spaces."""

    text: str
    start_ms: float
    end_ms: float
    confidence: float  # lowest confidence of its tokens, 0 to 1


@dataclasses.dataclass(frozen=True)
class HotwordMatch:
    """A hotword that a hypothesis contains."""

    phrase: str
    start_ms: float
    end_ms: float


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One possible transcription of an utterance."""

    text: str
    # Whether a space comes before, and after, the text where it is joined with that of the
    # utterance before, and after.
    begins_word: bool
    ends_word: bool
    language: str  # as the model found it, such as "en-US"; "" if no token tells one
    score: float  # natural log probability, with the additions of hotwords and language model
    confidence: float  # mean confidence of its words, 0 to 1
    tokens: Tuple[Token, ...]
    words: Tuple[Word, ...]
    hotwords: Tuple[HotwordMatch, ...]

    def __repr__(self) -> str:
        return f"Hypothesis({self.text!r}, score={self.score:.3f})"

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Utterance:
    """A part of a stream that is recognised and final."""

    index: int  # 0, 1, ... in the stream
    start_ms: float  # of the speech
    end_ms: float
    searched_ms: float  # end of the audio that belongs to the utterance
    # Why it ended: "endpoint", "end_token" (such as <EOU>), "flush" (finalize_utterance) or
    # "finish".
    end: str
    latency_ms: float  # of a live stream: from the last sample to this result
    nbest: Tuple[Hypothesis, ...]  # best first, at least one

    @property
    def best(self) -> Hypothesis:
        """The first of nbest."""
        return self.nbest[0]

    @property
    def text(self) -> str:
        """The text of the best hypothesis."""
        return self.best.text

    @property
    def begins_word(self) -> bool:
        """Whether a space comes before the text where it is joined with the utterance before."""
        return self.best.begins_word

    @property
    def ends_word(self) -> bool:
        """Whether a space comes after the text where it is joined with the next utterance."""
        return self.best.ends_word

    @property
    def language(self) -> str:
        """The language of the best hypothesis."""
        return self.best.language

    @property
    def tokens(self) -> Tuple[Token, ...]:
        """The tokens of the best hypothesis."""
        return self.best.tokens

    @property
    def words(self) -> Tuple[Word, ...]:
        """The words of the best hypothesis."""
        return self.best.words

    def __repr__(self) -> str:
        return (f"Utterance({self.text!r}, start_ms={self.start_ms:g}, end_ms={self.end_ms:g}, "
                f"end={self.end!r})")

    def __str__(self) -> str:
        return self.text


def join_texts(utterances: Iterable[Utterance]) -> str:
    """The texts of a stream's utterances as one text, as TextJoiner of C++ joins them.

    A space parts two texts only at a word boundary: a word that the end of an utterance has cut is
    whole again, and text without word boundaries gets no spaces.
    """
    text, at_boundary = "", False
    for utterance in utterances:
        at_boundary = at_boundary or utterance.begins_word
        if utterance.text:
            text += (" " if at_boundary and text else "") + utterance.text
            at_boundary = False
        at_boundary = at_boundary or utterance.ends_word
    return text


@dataclasses.dataclass(frozen=True)
class Result:
    """A recording that was transcribed. str() is its text."""

    utterances: Tuple[Utterance, ...]  # one, unless endpointing divides the recording
    duration_s: float  # of the audio

    @property
    def text(self) -> str:
        """The texts of all utterances, with a space between two only at a word boundary."""
        return join_texts(self.utterances)

    @property
    def tokens(self) -> Tuple[Token, ...]:
        """The tokens of the best hypotheses."""
        return tuple(token for utterance in self.utterances for token in utterance.tokens)

    @property
    def words(self) -> Tuple[Word, ...]:
        """The words of the best hypotheses."""
        return tuple(word for utterance in self.utterances for word in utterance.words)

    @property
    def nbest(self) -> Tuple[Hypothesis, ...]:
        """The hypotheses of the only utterance, best first.

        Raises:
            ValueError: there are several utterances, each with hypotheses of its own.
        """
        if len(self.utterances) != 1:
            raise ValueError(f"the result has {len(self.utterances)} utterances, expected 1; read "
                             "utterances[i].nbest")
        return self.utterances[0].nbest

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}..."
        return (f"Result({text!r}, duration_s={self.duration_s:g}, "
                f"utterances: {len(self.utterances)})")

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class LiveUpdate:
    """What became known of a live stream since the update before (runtime/live_update.h)."""

    utterances: Tuple[Utterance, ...]  # those that ended, each once
    utterance_index: int  # of the texts and tokens below
    text: str  # of the utterance that is spoken now, so far
    begins_word: bool  # of `text`, as Hypothesis.begins_word
    stable_text: str  # that became stable since the update before
    tentative_text: str  # the end of `text`, which later audio may change
    stable_size_before: int  # characters of the stable text before stable_text
    tokens: Tuple[Token, ...]  # of stable_text, num_stable_tokens of them, and tentative_text
    num_stable_tokens: int
    stable_tokens_before: int
    num_empty_finalizations: int  # calls of finalize_utterance that ended no utterance
    audio_ms: float  # the text covers the audio up to here
    latency_ms: float  # from the last sample of the newest chunk to this update
    is_final: bool  # True in the last update of a stream
    error: str  # of the last update: why there is no last utterance; otherwise empty

    def __repr__(self) -> str:
        return (f"LiveUpdate({self.text!r}, utterances={self.utterances}, "
                f"audio_ms={self.audio_ms:g}, is_final={self.is_final}, error={self.error!r})")


@dataclasses.dataclass(frozen=True)
class StreamingConfig:
    """Chunk sizes and left contexts, in encoder frames; -1: the whole utterance, or unlimited."""

    chunk_size: int  # recommended
    left_context: int  # recommended
    min_chunk_size: int
    max_chunk_size: Optional[int]  # None: no limit
    max_left_context: Optional[int]  # None: no limit
    # (chunk_size, left_context): the only ones that the model was trained for; empty: any.
    only: Tuple[Tuple[int, int], ...]
    # Of an offline model, for live audio and recordings of more than 60 s: (chunk_size,
    # left_context, right_context).
    window: Optional[Tuple[int, int, int]]


@dataclasses.dataclass(frozen=True)
class RecognizerStatus:
    """Counts and durations since the recognizer was made, unless a comment says "now"."""

    num_streams: int  # now: not over
    queued_streams: int  # now: with a chunk that waits for a worker
    num_batches: int
    num_chunks: int
    audio_s: float  # decoded
    compute_s: float  # spent by workers
    queue_ms_p50: float  # from the last sample of a chunk to the start of its batch
    queue_ms_p95: float
    chunk_ms_p50: float  # from the last sample of a chunk to its result
    chunk_ms_p95: float
    chunk_ms_p99: float
