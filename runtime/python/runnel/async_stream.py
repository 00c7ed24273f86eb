"""A live stream for asyncio."""

from __future__ import annotations  # Unpack is of Python 3.11

import asyncio
import functools
from typing import TYPE_CHECKING, Any, List, Optional

import numpy as np
from numpy.typing import NDArray

from runnel._runnel import LiveStream, Recognizer
from runnel.errors import DataError
from runnel.options import StreamOptions
from runnel.results import LiveUpdate, Utterance

if TYPE_CHECKING:
    from typing import Unpack


class _Listener:
    """What the live stream calls with its updates. It frees the listener when it is over.

    It knows the loop and the queue, not the AsyncStream, which may thus be dropped.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop,
                 updates: "asyncio.Queue[Optional[LiveUpdate]]") -> None:
        self._loop = loop
        self._updates = updates

    def __call__(self, update: LiveUpdate) -> None:
        _call(self._loop, self._updates.put_nowait, update)

    def __del__(self) -> None:
        _call(self._loop, self._updates.put_nowait, None)


def _call(loop: asyncio.AbstractEventLoop, function: Any, *arguments: Any) -> None:
    """Calls a function in a loop, from any thread; does nothing when the loop has ended."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        if not loop.is_closed():
            raise


class AsyncStream:
    """A live stream of a recognizer, fed and read by coroutines of one event loop.

        async with runnel.AsyncStream(recognizer, chunk_size=16) as stream:
            await stream.accept(samples)
            stream.finish()
            async for update in stream:
                print(update.text)

    Make it inside the running loop. No method blocks the loop. The constructor reads files that
    options name, so give it Hotwords, WordList and LanguageModel. The iteration ends when the
    stream is over, also when it is cancelled or its recognizer is closed. Leaving the context
    cancels a stream that is not over, and so does dropping it before finish. Updates wait until
    they are read.
    """

    def __init__(self, recognizer: Recognizer, *, snapshot: Optional[bytes] = None,
                 **options: Unpack[StreamOptions]) -> None:
        """Opens the stream, or continues from `snapshot` with the options of Recognizer.restore.

        Raises:
            RuntimeError: no event loop runs in this thread.
            ValueError, SnapshotError: as Recognizer.open and Recognizer.restore.
        """
        self._loop = asyncio.get_running_loop()
        # None ends the iteration.
        self._updates: "asyncio.Queue[Optional[LiveUpdate]]" = asyncio.Queue()
        self._has_final = False
        listener = _Listener(self._loop, self._updates)
        if snapshot is None:
            self._stream = recognizer.open(listener, **options)
        else:
            arguments: Any = options
            self._stream = recognizer.restore(snapshot, listener, **arguments)

    @property
    def stream(self) -> LiveStream:
        """The live stream, for its other methods. Those that wait block the loop."""
        return self._stream

    async def accept(self, samples: NDArray[Any]) -> bool:
        """Takes samples as LiveStream.accept does; waits while the stream has no room.

        Returns:
            False when the stream is over.
        """
        if not isinstance(samples, np.ndarray) or samples.ndim != 1:
            self._stream.accept_now(samples)  # raises what is wrong
        while True:  # accept_now looks at no more samples than it has room for
            samples = samples[self._stream.accept_now(samples):]
            if not len(samples):
                return True
            if self._stream.is_over:
                return False
            has_room = asyncio.Event()
            self._stream.notify_room(functools.partial(_call, self._loop, has_room.set))
            await has_room.wait()

    def finalize_utterance(self) -> None:
        """Ends the utterance after the samples accepted so far; the stream goes on."""
        self._stream.finalize_utterance()

    def finish(self) -> None:
        """Ends the audio. The rest is decoded, then comes the final update."""
        self._stream.finish()

    async def result(self) -> List[Utterance]:
        """Finishes the stream and reads its updates to the end; returns their utterances.

        Raises:
            DataError: the audio cannot be decoded, and the message says why; or the stream is
                cancelled or its recognizer closed.
        """
        self.finish()
        utterances: List[Utterance] = []
        async for update in self:
            utterances += update.utterances
            if update.error:
                raise DataError(update.error)
        if not self._has_final:
            raise DataError("the stream is cancelled, expected its final update")
        return utterances

    def cancel(self) -> None:
        """Ends the stream; the iteration ends after the updates that have come already."""
        self._stream.cancel()

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        if not self._stream.is_over:
            # Waits for a running callback, which may wait for the GIL but not for this loop.
            self.cancel()

    def __aiter__(self) -> "AsyncStream":
        return self

    async def __anext__(self) -> LiveUpdate:
        update = await self._updates.get()
        if update is None:
            self._updates.put_nowait(None)  # every later call ends too
            raise StopAsyncIteration
        self._has_final |= update.is_final
        return update
