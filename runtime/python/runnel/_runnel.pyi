"""Types of the extension module, and its docstrings, which tests compare with the module's."""

from types import TracebackType
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, Type, Union, Unpack

import numpy as np
from numpy.typing import NDArray

from runnel.options import ModelOptions, Path, StreamOptions
from runnel.results import (Hypothesis, LiveUpdate, RecognizerStatus, StreamingConfig, Utterance)

__version__: str

_Samples = Union[NDArray[np.float32], NDArray[np.int16]]

class AudioSource:
    """Reads an audio file, or a pipe, as mono samples at a chosen rate.

    path: a file of a format that libsndfile reads, or "-" for standard input. rate_hz: rate of the
    samples that read returns. channel: counted from 0; -1: the mean of all. audio_track: of a
    file with several, counted from 0; -1: the main one.
    """
    def __init__(self, path: Path, rate_hz: int, channel: int = -1, audio_track: int = -1
                 ) -> None: ...
    def read(self, max_samples: Optional[int] = None) -> NDArray[np.float32]:
        """The next samples, (n,) float32: max_samples, fewer only at the end, then none.

        None: all that are left.
        """
    @property
    def duration_s(self) -> Optional[float]:
        """Seconds of the whole input; None if not known before reading."""
    @property
    def seconds_read(self) -> float:
        """Seconds of the input read so far."""
    @property
    def announced_s(self) -> Optional[float]:
        """Seconds that the header announces; None if it announces none."""
    @property
    def warnings(self) -> List[str]:
        """When all is read: what of the recording is damaged, cut off or left out, one line each."""

def resample(samples: _Samples, in_rate_hz: int, out_rate_hz: int) -> NDArray[np.float32]:
    """Converts samples, (n,) float32 in [-1, 1] or int16, to another rate.

    Returns (round(n * out_rate_hz / in_rate_hz),) float32, aligned with the input.
    Raises ValueError for a sample that is NaN or far outside [-1, 1].
    """

class Model:
    """A loaded model. Immutable; threads may share it."""
    def __init__(self, path: Path, **options: Unpack[ModelOptions]) -> None: ...
    @property
    def name(self) -> str:
        """The name in the model file."""
    @property
    def streaming(self) -> StreamingConfig:
        """Recommended and permitted chunk sizes and left contexts."""
    @property
    def tokens(self) -> Tuple[str, ...]:
        """The tokens by id, as in units.txt."""
    @property
    def blank_id(self) -> int:
        """Index of the blank in tokens."""
    @property
    def has_word_boundaries(self) -> bool:
        """Whether texts are joined by spaces."""
    @property
    def languages(self) -> List[str]:
        """What the option language may be; empty without a language prompt."""
    @property
    def sample_rate_hz(self) -> int:
        """Rate of the audio that the model was trained on."""
    @property
    def feature_dim(self) -> int:
        """Width of a feature frame."""
    @property
    def feature_frame_ms(self) -> float:
        """Milliseconds of audio from one feature frame to the next."""
    @property
    def encoder_frame_ms(self) -> float:
        """Duration of one encoder frame, in milliseconds of audio."""
    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for models that compute the same."""
    @property
    def is_bit_reproducible(self) -> bool:
        """True for the CPU backend: results do not depend on batch or packets."""
    @property
    def compute_description(self) -> str:
        """Precision, cache and instruction set in one line, for a log."""
    def _features(self, samples: _Samples) -> NDArray[np.float32]: ...
    def _log_probs(self, samples: _Samples, chunk_size: int, left_context: int, right_context: int,
                   cached_windows: bool) -> NDArray[Any]: ...

class WordList:
    """The words that a search is restricted to.

    path: a file with one spelling per line (runtime/word_list.h). For any number of streams of the
    model.
    """
    def __init__(self, model: Model, path: Path) -> None: ...
    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for equal words and tokens."""

class Hotwords:
    """Phrases that a beam search prefers.

    phrases: the path of a file with one phrase per line, or a list of phrases; each may end in its
    own score, as in "new york :1.5" (docs/hotwords.md). score: bonus per character of phrases
    without one, -100 to 100. For any number of streams of the model.
    """
    def __init__(self, model: Model, phrases: Union[Path, List[str], Tuple[str, ...]],
                 score: float = 0.75) -> None: ...
    @property
    def phrases(self) -> Tuple[str, ...]:
        """The phrases in the order of the list, each once."""

class LanguageModel:
    """An n-gram language model with back-off.

    path: ARPA text, or a file of compile_lm (docs/language_models.md). For any number of streams of
    any models. Open streams of one model with equal settings share what is prepared for its
    vocabulary.
    """
    def __init__(self, path: Path) -> None: ...
    @property
    def order(self) -> int:
        """The number of words in the longest n-grams."""
    @property
    def num_ngrams(self) -> int:
        """The n-grams of all lengths."""
    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for models with equal n-grams and numbers."""

class Stream:
    """One audio stream, decoded by the thread that feeds it.

    Stream(model, **options) opens a stream; StreamOptions describes the options. A stream is a
    sequence of utterances: they end by the rules of endpointing, by finalize_utterance and with the
    stream. Threads may share a stream; their calls take turns. A signal handler that interrupts a
    call of a stream gets RuntimeError from the methods of that stream. Raises ValueError for an
    option out of its range or not permitted by the model.
    """
    def __init__(self, model: Model, **options: Unpack[StreamOptions]) -> None: ...
    @staticmethod
    def restore(model: Model, snapshot: bytes, *, word_list: Union[Path, WordList, None] = None,
                language_model: Union[Path, LanguageModel, None] = None,
                nbest: int = 0) -> Stream:
        """Continues from a snapshot, with bit-identical results on the CPU backend.

        word_list and language_model: those of the stream, which the snapshot only names. nbest: 0
        keeps that of the stream. Raises SnapshotError for bytes that are not a snapshot of this
        model.
        """
    @staticmethod
    def _for_recording(model: Model, recording: Union[AudioSource, _Samples],
                       **options: Unpack[StreamOptions]) -> Stream:
        """A stream for an AudioSource or an array: of a short one the whole utterance."""
    def accept(self, samples: _Samples) -> None:
        """Takes samples and decodes every chunk that they complete.

        samples: (n,) float32 in [-1, 1] or int16 at sample_rate_hz, one channel, of any length.
        Raises ValueError after finish and for a sample that is NaN or beyond 100 in magnitude.
        Ctrl-C interrupts it between two chunks: the samples are accepted, and decode goes on.
        """
    def accept_samples(self, samples: _Samples) -> None:
        """As accept, but decodes nothing; see decode and decode_chunks."""
    def accept_features(self, frames: NDArray[np.float32]) -> None:
        """Takes feature frames, (n, feature_dim) float32, in place of samples; decodes nothing.

        Raises ValueError for a stream that has samples, and for a value that is not finite.
        """
    def decode(self) -> None:
        """Decodes every chunk that is ready. Raises DataError with failure if there is one."""
    def end_samples(self) -> None:
        """Ends the audio: the rest of the samples becomes the last chunk. Decodes nothing."""
    def finish(self) -> List[Utterance]:
        """Ends the audio, decodes the rest and returns utterances()."""
    def finalize_utterance(self) -> None:
        """Ends the utterance now, as if the audio ended here; the stream goes on."""
    def reset(self) -> None:
        """Returns to the state after construction, with the same options."""
    def snapshot(self) -> bytes:
        """The state of the stream, for restore in any process."""
    def fork(self) -> Stream:
        """A copy, which continues independently from this point."""
    def close(self) -> None:
        """Frees the memory of the stream. Later calls raise ValueError."""
    def utterances(self) -> List[Utterance]:
        """The utterances that ended since the last call, in order, each once."""
    def nbest(self, n: int = 1) -> List[Hypothesis]:
        """The n best hypotheses of the utterance that is spoken now, best first."""
    @property
    def partial(self) -> str:
        """The text of the utterance that is spoken now, so far."""
    @property
    def stable_partial(self) -> str:
        """The beginning of partial that no later audio changes. With greedy search: all of it."""
    @property
    def utterance_index(self) -> int:
        """Index of the utterance of partial and nbest."""
    @property
    def chunk_ready(self) -> bool:
        """Whether decode would decode a chunk."""
    @property
    def finished(self) -> bool:
        """Whether the audio has ended."""
    @property
    def is_final(self) -> bool:
        """Whether the audio has ended and all of it is decoded."""
    @property
    def failure(self) -> str:
        """Why the stream no longer advances; empty while it does."""
    @property
    def num_samples(self) -> int:
        """Samples accepted, at sample_rate_hz."""
    @property
    def num_encoder_frames(self) -> int:
        """Encoder frames decoded."""
    @property
    def chunk_size(self) -> int:
        """Encoder frames per chunk; -1: the whole utterance."""
    @property
    def left_context(self) -> int:
        """Encoder frames before a chunk; -1: all."""
    @property
    def right_context(self) -> int:
        """Encoder frames after a chunk in its window; -1: no windows."""
    @property
    def cached_windows(self) -> bool:
        """Whether windows compute their left context once."""
    @property
    def sample_rate_hz(self) -> int:
        """Rate of the samples that the stream accepts."""
    def __enter__(self) -> Stream: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None: ...

def decode_chunks(streams: Sequence[Stream]) -> int:
    """Decodes one chunk of every stream that has one ready, all in one batch.

    Returns how many streams advanced. Each gets the results that it would get alone. A stream whose
    failure is set is skipped. Raises ValueError when the streams are of different models.
    """

class LiveStream:
    """One live stream of a Recognizer, which opens it.

    Fed from any thread. Read by the callback given to open, or, without one, by poll or by
    iteration (`for update in stream`) until the final update. A stream that is dropped before
    finish is cancelled; after finish it is decoded to its end, if the recognizer lives. `with`
    cancels a stream that is not over.
    """
    def accept(self, samples: _Samples) -> bool:
        """Takes samples, (n,) float32 in [-1, 1] or int16 at the stream's rate, one channel.

        Waits while the stream has no room. Returns False when the stream is over, which happens
        after an error in the audio and after cancel. Raises ValueError after finish, and in a
        callback.
        """
    def accept_now(self, samples: _Samples) -> int:
        """Takes as many samples as there is room for and returns their number; never waits."""
    def notify_room(self, on_room: Callable[[], object]) -> None:
        """Calls on_room() once, when half of the room is free or the stream waits or is over.

        At once if that is so now, else later from a worker. A second call replaces the first.
        """
    def finalize_utterance(self) -> None:
        """Ends the utterance after the samples accepted so far; the stream goes on."""
    def finish(self) -> None:
        """Ends the audio. The rest is decoded, then comes the final update."""
    def cancel(self) -> None:
        """Ends the stream. Nothing more is decoded, and no callback runs afterwards."""
    def poll(self, timeout_s: float = 0.0) -> Optional[LiveUpdate]:
        """The changes since the last poll as one LiveUpdate; None if there are none.

        Waits for them for timeout_s seconds at most. Raises ValueError for a stream with a callback
        and, unless timeout_s is 0, in a callback.
        """
    def snapshot(self) -> bytes:
        """The stream with all samples accepted so far, for Recognizer.restore in any process.

        Updates that poll or the callback brought are not repeated. Raises ValueError after cancel
        and after an error.
        """
    def fork(self, on_update: Optional[Callable[[LiveUpdate], object]] = None) -> LiveStream:
        """A second stream that continues from this point independently."""
    @property
    def room(self) -> int:
        """The number of samples that accept_now would take."""
    @property
    def is_over(self) -> bool:
        """Whether no update comes any more, except one that poll can take."""
    @property
    def num_samples(self) -> int:
        """Samples accepted, including those before restore or fork."""
    def __iter__(self) -> Iterator[LiveUpdate]: ...
    def __next__(self) -> LiveUpdate: ...
    def __enter__(self) -> LiveStream: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None: ...

class Recognizer:
    """Worker threads that decode many live streams in batches.

    num_threads: workers, each on one core. max_batch_streams: most streams in a batch.
    max_batch_wait_ms: longest wait of a chunk for others. max_buffered_s: most undecoded audio of a
    stream, in seconds. Every method may be called from any thread. Raises ValueError for an option
    out of its range.
    """
    def __init__(self, model: Model, *, num_threads: int = 1, max_batch_streams: int = 16,
                 max_batch_wait_ms: float = 10.0, max_buffered_s: float = 30.0) -> None: ...
    def open(self, on_update: Optional[Callable[[LiveUpdate], object]] = None,
             **options: Unpack[StreamOptions]) -> LiveStream:
        """Opens a live stream with the options of StreamOptions.

        on_update: called with each LiveUpdate by a worker thread, one call at a time and in order.
        The worker waits for it, so it should be short, and must not wait for the recognizer. An
        exception in it goes to sys.unraisablehook. None: the stream is polled. The stream keeps the
        recognizer alive.
        """
    def restore(self, snapshot: bytes, on_update: Optional[Callable[[LiveUpdate], object]] = None,
                *, word_list: Union[Path, WordList, None] = None,
                language_model: Union[Path, LanguageModel, None] = None,
                nbest: int = 0) -> LiveStream:
        """Continues a stream from a snapshot of Stream or LiveStream; see Stream.restore."""
    def status(self) -> RecognizerStatus:
        """Counts and durations since the recognizer was made."""
    def close(self) -> None:
        """Cancels the streams that are left and waits for the workers. Not in a callback."""
    @property
    def model(self) -> Model:
        """The model that was given."""
    def __enter__(self) -> Recognizer: ...
    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None: ...
