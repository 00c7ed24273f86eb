"""A loaded model, and what it does with whole recordings."""

from __future__ import annotations  # Unpack is of Python 3.11

import os
from typing import (TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Sized, Tuple, Union,
                    overload)

import numpy as np
from numpy.typing import NDArray

from runnel import _runnel
from runnel.options import ModelOptions, Path, StreamOptions
from runnel.results import Result
from runnel.transcription import (Part, check_audio, check_several, is_one, progress_bar,
                                  transcribe, warn_of)

if TYPE_CHECKING:
    from typing import Unpack

Audio = Union[Path, NDArray[np.float32], NDArray[np.int16]]


class Model(_runnel.Model):
    """A loaded model: load it once, share it between threads, open any number of streams.

    Args:
        path: a model file (models/README.md), or WeNet's TorchScript export with units_file.
        threads: threads that transcribe uses for several recordings; None: one per core that this
            process may use.
        options: runnel.ModelOptions.

    Raises:
        FileNotFoundError: there is no such file.
        DataError: the file is not a model, or not one that can be used.
        ValueError: options that the model does not support.
    """

    def __init__(self, path: Path, *, threads: Optional[int] = None,
                 **options: Unpack[ModelOptions]) -> None:
        if threads is None:
            threads = len(os.sched_getaffinity(0))
        if not isinstance(threads, int):
            raise TypeError(f"threads is {threads!r}, expected an integer")
        if threads < 1:
            raise ValueError(f"threads is {threads}, expected at least 1")
        super().__init__(path, **options)
        self.threads = threads

    def __repr__(self) -> str:
        return f"<runnel.Model {self.name}: {self.compute_description}>"

    def stream(self, **options: Unpack[StreamOptions]) -> _runnel.Stream:
        """Opens a stream that the calling thread decodes. Recognizer opens live streams."""
        return _runnel.Stream(self, **options)

    def restore(self, snapshot: bytes, **options: Any) -> _runnel.Stream:
        """Continues from a snapshot: Stream.restore."""
        return _runnel.Stream.restore(self, snapshot, **options)

    @overload
    def transcribe(self, audio: Audio, *, channel: int = -1,  # type: ignore[misc]  # a str is a
                   audio_track: int = -1, batch_streams: int = 16,  # Iterable of str
                   progress: Optional[bool] = None, **options: Unpack[StreamOptions]) -> Result: ...

    @overload
    def transcribe(self, audio: Iterable[Audio], *, channel: int = -1, audio_track: int = -1,
                   batch_streams: int = 16, progress: Optional[bool] = None,
                   **options: Unpack[StreamOptions]) -> List[Result]: ...

    def transcribe(self, audio: Union[Audio, Iterable[Audio]], *, channel: int = -1,
                   audio_track: int = -1, batch_streams: int = 16,
                   progress: Optional[bool] = None, **options: Unpack[StreamOptions]
                   ) -> Union[Result, List[Result]]:
        """Transcribes a recording, or several recordings in batches.

        Args:
            audio: a path of a file that libsndfile reads, at any rate; or samples, (n,) float32 in
                [-1, 1] or int16, at the rate sample_rate_hz (the model's if not given); or a list
                or another iterable of these. What is no list and no tuple is read while its
                recordings are decoded, by one thread at a time.
            channel: of files, counted from 0; -1: the mean of all.
            audio_track: of files that have several, counted from 0; -1: the main one.
            batch_streams: recordings that a thread decodes in one batch.
            progress: whether several recordings show a progress bar, which needs tqdm; None: on a
                terminal.
            options: those of the streams. sample_rate_hz is the rate of arrays.

        Returns:
            The result, or for several recordings the results in their order.

        Raises:
            FileNotFoundError, DataError: a file is missing or cannot be decoded. The first such
                recording ends the work; transcribe_each goes on.
            TypeError, ValueError: audio or options of a wrong kind.
        """
        several: Any = [audio] if is_one(audio) else audio
        check_several(several)
        total = len(several) if isinstance(several, Sized) else None
        results: List[Result] = []
        with progress_bar(total, False if is_one(audio) else progress) as bar:
            for _, outcome in transcribe(self, several, self.threads, Part(channel, audio_track),
                                         batch_streams, options):
                if isinstance(outcome, Exception):
                    raise outcome
                results.append(outcome)
                bar.update()
        return results[0] if is_one(audio) else results

    def transcribe_each(self, audio: Iterable[Audio], *, channel: int = -1, audio_track: int = -1,
                        batch_streams: int = 16, **options: Unpack[StreamOptions]
                        ) -> Iterator[Tuple[Audio, Union[Result, Exception]]]:
        """Transcribes recordings in batches, and goes on when one fails.

        Args:
            audio, channel, audio_track, batch_streams, options: as in transcribe. `audio` may be
                endless: at most 2 * threads * batch_streams recordings are read and not yet
                yielded, unless it is a list or a tuple.

        Yields:
            Each recording as it was given, and its result, or the exception that transcribe would
            raise for it. In the order of `audio`, each as soon as those before it are done. After
            the last result it raises what iterating over `audio` raised.

        Raises:
            TypeError, ValueError: options, or an `audio`, of a wrong kind; before the first result.
        """
        check_several(audio)
        return transcribe(self, audio, self.threads, Part(channel, audio_track), batch_streams,
                          options)

    def features(self, audio: Audio, *, sample_rate_hz: Optional[int] = None, channel: int = -1,
                 audio_track: int = -1) -> NDArray[np.float32]:
        """The features of audio as the encoder reads them, before normalisation.

        Args:
            audio, sample_rate_hz, channel, audio_track: as in transcribe.

        Returns:
            (frames, feature_dim); frame t begins t * feature_frame_ms after the start.
        """
        return self._features(self._samples(audio, sample_rate_hz, Part(channel, audio_track)))

    def log_probs(self, audio: Audio, *, sample_rate_hz: Optional[int] = None, channel: int = -1,
                  audio_track: int = -1, chunk_size: int = -2, left_context: int = -2,
                  right_context: int = -2, cached_windows: bool = False) -> NDArray[Any]:
        """Log probabilities of the CTC head, chunk by chunk, natural logarithm.

        Args:
            audio, sample_rate_hz, channel, audio_track: as in transcribe.
            chunk_size, left_context, right_context: in encoder frames; -2: as transcribe has it
                by default, -1: whole utterance, unlimited and no windows.
            cached_windows: windows compute their left context once.

        Returns:
            (encoder frames, vocabulary) float32; float64 with that precision. Row t begins
            t * encoder_frame_ms after the start. A language prompt has its default language.

        Raises:
            DataError: the model has no CTC head.
        """
        return self._log_probs(self._samples(audio, sample_rate_hz, Part(channel, audio_track)),
                               chunk_size, left_context, right_context, cached_windows)

    def _samples(self, audio: Audio, sample_rate_hz: Optional[int], part: Part
                 ) -> NDArray[Any]:
        """All samples of `audio` at the model's rate, (n,) float32 or int16."""
        check_audio(audio, sample_rate_hz, part)
        if isinstance(audio, np.ndarray):
            if sample_rate_hz is None or sample_rate_hz == self.sample_rate_hz:
                return audio
            return _runnel.resample(audio, sample_rate_hz, self.sample_rate_hz)
        source = _runnel.AudioSource(audio, self.sample_rate_hz, *part)
        samples = source.read()
        warn_of(source)
        return samples


load = Model  # runnel.load("model.pt")
