"""Transcribes recordings in batches: each thread decodes one chunk of every stream at a time."""

import concurrent.futures
import contextlib
import os
import queue
import threading
import warnings
from typing import (Any, Callable, Dict, Generator, Iterable, Iterator, List, Mapping, NamedTuple,
                    Optional, Sized, Tuple, Union)

import numpy as np

from runnel import _runnel
from runnel.errors import DataError
from runnel.results import Result, Utterance

Outcome = Union[Result, Exception]


def is_one(audio: Any) -> bool:
    """Whether `audio` is one recording, not several."""
    return isinstance(audio, (str, os.PathLike, np.ndarray))


def check_several(audio: Any) -> None:
    """Raises TypeError for what is no iterable of recordings, or a file or bytes."""
    # What has __getitem__ alone, such as a data set of PyTorch, is iterated by index.
    is_iterable = isinstance(audio, Iterable) or hasattr(type(audio), "__getitem__")
    if not is_iterable or is_one(audio) or isinstance(audio, bytes) or hasattr(audio, "read"):
        raise TypeError("audio: expected a path, a NumPy array of samples (of bytes: "
                        f"numpy.frombuffer) or a list of these, got {type(audio).__name__}")


class Part(NamedTuple):
    """What is read of a file."""
    channel: int = -1
    audio_track: int = -1


def check_audio(audio: Any, sample_rate_hz: Optional[int], part: Part) -> None:
    """Raises TypeError for what is no recording, ValueError for what does not apply to it."""
    if not is_one(audio):
        raise TypeError(f"audio: expected a path or a NumPy array of samples (of bytes: "
                        f"numpy.frombuffer), got {type(audio).__name__}")
    is_array = isinstance(audio, np.ndarray)
    if not is_array and sample_rate_hz is not None:
        raise ValueError("sample_rate_hz is given for a file, expected it for arrays only")
    for name, number in part._asdict().items():
        if is_array and number != -1:
            raise ValueError(f"{name} is given for an array, expected it for files only")


def warn_of(source: _runnel.AudioSource) -> None:
    """Warns of what is damaged, cut off or left out of a recording, all of which is read."""
    for warning in source.warnings:
        warnings.warn(warning, RuntimeWarning, stacklevel=2)


class _Recording:
    """A recording that is being decoded."""

    def __init__(self, model: _runnel.Model, index: int, audio: Any, part: Part,
                 options: Mapping[str, Any]) -> None:
        self.index, self.audio = index, audio
        check_audio(audio, options.get("sample_rate_hz"), part)
        self._is_file = not isinstance(audio, np.ndarray)
        self._name = str(audio) if self._is_file else f"array {index}"
        self._duration_s = 0.0
        self._utterances: List[Utterance] = []
        source = (_runnel.AudioSource(audio, model.sample_rate_hz, *part) if self._is_file
                  else audio)
        arguments: Any = options
        self.stream = _runnel.Stream._for_recording(  # pylint: disable=protected-access
            model, source, **arguments)
        rate_hz = self.stream.sample_rate_hz
        self._blocks = (self._file_blocks(source, rate_hz) if self._is_file
                        else self._array_blocks(audio, rate_hz))

    def _file_blocks(self, source: _runnel.AudioSource, size: int) -> Iterator[Any]:
        while len(block := source.read(size)):
            yield block
        warn_of(source)
        self._duration_s = source.seconds_read

    def _array_blocks(self, samples: Any, rate_hz: int) -> Iterator[Any]:
        if samples.ndim != 1:
            yield samples  # the stream says what is wrong with it
        for begin in range(0, len(samples), rate_hz):
            yield samples[begin:begin + rate_hz]
        self._duration_s = len(samples) / rate_hz

    def feed(self) -> Optional[Result]:
        """Gives the stream samples until it has a chunk or the audio ends; returns None."""
        while not self.stream.chunk_ready and not self.stream.finished:
            block = next(self._blocks, None)
            if block is None:
                self.stream.end_samples()
                continue
            try:
                self.stream.accept_samples(block)
            except ValueError as error:
                if not self._is_file:
                    raise
                raise DataError(f"{self._name}: {error}") from error
        return None

    def result(self) -> Optional[Result]:
        """Takes the utterances that have ended; the result when all is decoded."""
        if self.stream.failure:
            raise DataError(f"{self._name}: {self.stream.failure}")
        self._utterances += self.stream.utterances()
        if not self.stream.is_final:
            return None
        return Result(tuple(self._utterances), self._duration_s)


class _Done(NamedTuple):
    """A recording that is decoded, or has failed."""

    position: int  # among the recordings
    audio: Any
    outcome: Outcome


class _Work:
    """The recordings that nobody has begun. Threads share it, and pull one at a time."""

    def __init__(self, audio: Iterable[Any], most: int) -> None:
        """most: recordings that are taken before the first of them is given."""
        self._waiting = enumerate(audio)
        self._room = threading.Semaphore(most)
        self._pulling = threading.Lock()
        self.is_cancelled = threading.Event()
        self.error: Optional[Exception] = None  # of the iterable, which ends with it

    def take(self, waits: bool) -> Optional[Tuple[int, Any]]:
        """The index and the audio of a recording. None: none is left, or unless `waits` none now.
        """
        if not self._room.acquire(blocking=waits):  # pylint: disable=consider-using-with
            return None
        taken = None
        if self._pulling.acquire(blocking=waits):  # pylint: disable=consider-using-with
            try:
                if self.error is None and not self.is_cancelled.is_set():
                    taken = next(self._waiting, None)
            except Exception as error:  # pylint: disable=broad-except
                self.error = error
            finally:
                self._pulling.release()
        if taken is None:
            self._room.release()
        return taken

    def give(self) -> None:
        """Makes room for another recording, as one that was taken is given to the caller."""
        self._room.release()

    def cancel(self) -> None:
        """Nothing more is taken."""
        self.is_cancelled.set()
        self._room.release()


def _load_files(model: _runnel.Model, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options with the files that they name, so that the streams share these."""
    loaded = dict(options)
    if isinstance(loaded.get("word_list"), (str, os.PathLike)):
        loaded["word_list"] = _runnel.WordList(model, loaded["word_list"])
    if isinstance(loaded.get("language_model"), (str, os.PathLike)):
        loaded["language_model"] = _runnel.LanguageModel(loaded["language_model"])
    return loaded


def transcribe(model: _runnel.Model, audio: Iterable[Any], threads: int, part: Part,
               batch_streams: int, options: Mapping[str, Any]
               ) -> Generator[Tuple[Any, Outcome], None, None]:
    """Yields paths and arrays, and what became of them, in order; see Model.transcribe_each."""
    if batch_streams < 1:
        raise ValueError(f"batch_streams is {batch_streams}, expected at least 1")
    options = _load_files(model, options)
    arguments: Any = options
    _runnel.Stream(model, **arguments).close()  # raises what is wrong with the options
    if isinstance(audio, Sized):
        threads = min(threads, len(audio))
    # A list is there already. Of others, so many that threads seldom wait for a long recording.
    most = len(audio) if isinstance(audio, (list, tuple)) else 2 * threads * batch_streams
    work = _Work(audio, max(1, most))

    def decode() -> Generator[_Done, None, None]:
        return _decode(work, batch_streams,
                       lambda index, one: _Recording(model, index, one, part, options))

    return _in_order(decode() if threads <= 1 else _in_threads(decode, threads, work), work)


def _decode(work: _Work, batch_streams: int, begin: Callable[[int, Any], _Recording]
            ) -> Generator[_Done, None, None]:
    """Decodes recordings in a batch until none is left; yields each when it is done."""
    batch: List[_Recording] = []
    while not work.is_cancelled.is_set():
        while (len(batch) < batch_streams
               and (taken := work.take(waits=not batch)) is not None):
            try:
                batch.append(begin(*taken))
            except Exception as error:  # pylint: disable=broad-except
                yield _Done(*taken, error)
        if not batch:
            return
        yield from _ended_by(_Recording.feed, batch)
        _runnel.decode_chunks([recording.stream for recording in batch])
        yield from _ended_by(_Recording.result, batch)


def _ended_by(step: Callable[[_Recording], Optional[Result]], batch: List[_Recording]
              ) -> Iterator[_Done]:
    """Takes a step with each recording; removes and yields those that end with it."""
    for recording in list(batch):
        try:
            outcome: Optional[Outcome] = step(recording)
        except Exception as error:  # pylint: disable=broad-except
            outcome = error
        if outcome is not None:
            batch.remove(recording)
            yield _Done(recording.index, recording.audio, outcome)


def _in_order(done: Generator[_Done, None, None], work: _Work
              ) -> Generator[Tuple[Any, Outcome], None, None]:
    """What is done by index 0, 1, ..., each as soon as those before it are. Then raises what the
    iterable of recordings raised."""
    early: Dict[int, _Done] = {}
    index = 0
    with contextlib.closing(done):
        for one in done:
            early[one.position] = one
            while index in early:
                _, audio, outcome = early.pop(index)
                work.give()
                yield audio, outcome
                index += 1
    if work.error is not None:
        raise work.error


def _in_threads(decode: Callable[[], Generator[_Done, None, None]], threads: int, work: _Work
                ) -> Generator[_Done, None, None]:
    """What `decode` yields in several threads, which end with this iteration."""
    done: "queue.SimpleQueue[Optional[_Done]]" = queue.SimpleQueue()

    def run() -> None:
        try:
            for one in decode():
                done.put(one)
        finally:
            done.put(None)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(run) for _ in range(threads)]
        try:
            for _ in running:
                while (one := done.get()) is not None:
                    yield one
            for each in running:
                each.result()  # raises what no recording has caused
        finally:
            work.cancel()


class _NoBar:
    """Stands for a progress bar that is not shown."""

    def __enter__(self) -> "_NoBar":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def update(self) -> None:
        """Counts one more recording."""


def progress_bar(total: Optional[int], progress: Optional[bool]) -> Any:
    """A bar of tqdm, or nothing where tqdm is not installed; see Model.transcribe."""
    if progress is False:
        return _NoBar()
    try:
        from tqdm import tqdm  # type: ignore[import]
    except ImportError:
        if progress:
            raise
        return _NoBar()
    return tqdm(total=total, unit="file", disable=None if progress is None else False)
