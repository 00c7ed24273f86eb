"""Transcribes recordings in batches: each thread decodes one chunk of every stream at a time."""

import concurrent.futures
import os
import queue
import threading
import warnings
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

import numpy as np

from runnel import _runnel
from runnel.errors import DataError
from runnel.results import Result, Utterance

Outcome = Union[Result, Exception]


def is_one(audio: Any) -> bool:
    """Whether `audio` is one recording, not several."""
    return isinstance(audio, (str, os.PathLike, np.ndarray))


def recordings_of(audio: Any) -> List[Any]:
    """The recordings of an iterable; raises TypeError for what is none, or a file or bytes."""
    if is_one(audio) or isinstance(audio, bytes) or hasattr(audio, "read") or not isinstance(
            audio, Iterable):
        raise TypeError("audio: expected a path, a NumPy array of samples (of bytes: "
                        f"numpy.frombuffer) or a list of these, got {type(audio).__name__}")
    return list(audio)


def check_audio(audio: Any, sample_rate_hz: Optional[int], channel: int) -> None:
    """Raises TypeError for what is no recording, ValueError for what does not apply to it."""
    if not is_one(audio):
        raise TypeError(f"audio: expected a path or a NumPy array of samples (of bytes: "
                        f"numpy.frombuffer), got {type(audio).__name__}")
    is_array = isinstance(audio, np.ndarray)
    if not is_array and sample_rate_hz is not None:
        raise ValueError("sample_rate_hz is given for a file, expected it for arrays only")
    if is_array and channel != -1:
        raise ValueError("channel is given for an array, expected it for files only")


def warn_of(source: _runnel.AudioSource) -> None:
    """Warns of what is damaged, cut off or left out of a recording, all of which is read."""
    for warning in source.warnings:
        warnings.warn(warning, RuntimeWarning, stacklevel=2)


class _Recording:
    """A recording that is being decoded."""

    def __init__(self, model: _runnel.Model, index: int, audio: Any, channel: int,
                 options: Mapping[str, Any]) -> None:
        self.index = index
        check_audio(audio, options.get("sample_rate_hz"), channel)
        self._is_file = not isinstance(audio, np.ndarray)
        self._name = str(audio) if self._is_file else f"array {index}"
        self._duration_s = 0.0
        self._utterances: List[Utterance] = []
        arguments: Any = options
        self.stream = _runnel.Stream(model, **arguments)
        rate_hz = self.stream.sample_rate_hz
        self._blocks = (self._file_blocks(_runnel.AudioSource(audio, rate_hz, channel), rate_hz)
                        if self._is_file else self._array_blocks(audio, rate_hz))

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


class _Work:
    """The recordings of a list that nobody has begun. Threads share it."""

    def __init__(self, audio: Sequence[Any]) -> None:
        self._waiting: "queue.SimpleQueue[Tuple[int, Any]]" = queue.SimpleQueue()
        for one in enumerate(audio):
            self._waiting.put(one)
        self.is_cancelled = threading.Event()

    def take(self) -> Optional[Tuple[int, Any]]:
        """The index and the audio of a recording; None when there is none."""
        try:
            return self._waiting.get_nowait()
        except queue.Empty:
            return None


def _load_files(model: _runnel.Model, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options with the files that they name, so that the streams share these."""
    loaded = dict(options)
    if isinstance(loaded.get("word_list"), (str, os.PathLike)):
        loaded["word_list"] = _runnel.WordList(model, loaded["word_list"])
    if isinstance(loaded.get("language_model"), (str, os.PathLike)):
        loaded["language_model"] = _runnel.LanguageModel(loaded["language_model"])
    return loaded


def transcribe(model: _runnel.Model, audio: Sequence[Any], threads: int, channel: int,
               batch_streams: int, options: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yields what became of paths and arrays, in their order; see Model.transcribe_each."""
    if batch_streams < 1:
        raise ValueError(f"batch_streams is {batch_streams}, expected at least 1")
    options = _load_files(model, options)
    arguments: Any = options
    _runnel.Stream(model, **arguments).close()  # raises what is wrong with the options
    work = _Work(audio)

    def decode() -> Iterator[Tuple[int, Outcome]]:
        return _decode(work, batch_streams,
                       lambda index, one: _Recording(model, index, one, channel, options))

    return _in_order(decode() if min(threads, len(audio)) <= 1
                     else _in_threads(decode, min(threads, len(audio)), work.is_cancelled))


def _decode(work: _Work, batch_streams: int, begin: Callable[[int, Any], _Recording]
            ) -> Iterator[Tuple[int, Outcome]]:
    """Decodes recordings in a batch until none is left; yields each when it is done."""
    batch: List[_Recording] = []
    while not work.is_cancelled.is_set():
        while len(batch) < batch_streams and (taken := work.take()) is not None:
            try:
                batch.append(begin(*taken))
            except Exception as error:  # pylint: disable=broad-except
                yield taken[0], error
        if not batch:
            return
        yield from _ended_by(_Recording.feed, batch)
        _runnel.decode_chunks([recording.stream for recording in batch])
        yield from _ended_by(_Recording.result, batch)


def _ended_by(step: Callable[[_Recording], Optional[Result]], batch: List[_Recording]
              ) -> Iterator[Tuple[int, Outcome]]:
    """Takes a step with each recording; removes and yields those that end with it."""
    for recording in list(batch):
        try:
            outcome: Optional[Outcome] = step(recording)
        except Exception as error:  # pylint: disable=broad-except
            outcome = error
        if outcome is not None:
            batch.remove(recording)
            yield recording.index, outcome


def _in_order(outcomes: Iterator[Tuple[int, Outcome]]) -> Iterator[Outcome]:
    """The outcomes by their indices 0, 1, ..., each as soon as those before it have come."""
    early: Dict[int, Outcome] = {}
    index = 0
    for found, outcome in outcomes:
        early[found] = outcome
        while index in early:
            yield early.pop(index)
            index += 1


def _in_threads(decode: Callable[[], Iterator[Tuple[int, Outcome]]], threads: int,
                is_cancelled: threading.Event) -> Iterator[Tuple[int, Outcome]]:
    """What `decode` yields in several threads, which end with this iteration."""
    done: "queue.SimpleQueue[Optional[Tuple[int, Outcome]]]" = queue.SimpleQueue()

    def run() -> None:
        try:
            for outcome in decode():
                done.put(outcome)
        finally:
            done.put(None)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(run) for _ in range(threads)]
        try:
            for _ in running:
                while (outcome := done.get()) is not None:
                    yield outcome
            for one in running:
                one.result()  # raises what no recording has caused
        finally:
            is_cancelled.set()


class _NoBar:
    """Stands for a progress bar that is not shown."""

    def __enter__(self) -> "_NoBar":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def update(self) -> None:
        """Counts one more recording."""


def progress_bar(total: int, progress: Optional[bool]) -> Any:
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
