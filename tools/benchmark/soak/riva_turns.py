"""Live calls of NVIDIA Riva whose speech ends again and again, timed on the client's clock.

The messages are written by hand: protobuf needs generated code, and three fields are all.
"""

import asyncio
import random
import time
from typing import AsyncIterator, List

import grpc
import grpc.aio
import numpy as np

from tools.benchmark.pages.programs import ProgramError
from tools.benchmark.soak.recordings import RATE_HZ

_METHOD = "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize"
_PACKET_S = 0.1
_LINEAR_PCM = 1
_NEVER_MS = 3_600_000  # of silence: no utterance ends but by its client


def _varint(value: int) -> bytes:
    digits = []
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _start() -> bytes:
    """A request with streaming_config."""
    endpointing = _number(3, _NEVER_MS)
    config = _number(1, _LINEAR_PCM) + _number(2, RATE_HZ) + _bytes(25, endpointing)
    return _bytes(1, _bytes(1, config))


_FORCE_EOU = _bytes(3, _bytes(1, b"force_eou") + _bytes(2, b"true"))


def recognize(port: int, samples: np.ndarray, rate_hz: int, timeout_s: float) -> bytes:
    """All responses of a call on a connection of its own. samples: (samples,) int16."""
    config = _bytes(1, _bytes(1, _number(1, _LINEAR_PCM) + _number(2, rate_hz)))
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        requests = iter([config, _bytes(2, samples.tobytes())])
        return b"".join(channel.stream_stream(_METHOD)(requests, timeout=timeout_s))


class _Call:
    """One call, which sends its audio in real time."""

    def __init__(self, audio: np.ndarray, turn_s: float, seed: int) -> None:
        """audio: (samples,) int16."""
        self.latencies_ms: List[float] = []
        self._audio, self._turn_s, self._random = audio, turn_s, random.Random(seed)
        self._ends: List[float] = []  # times of the turns that have no text yet

    async def run(self, channel: grpc.aio.Channel, delay_s: float) -> None:
        """Makes the call, and fails unless every turn has its text."""
        await asyncio.sleep(delay_s)
        call = channel.stream_stream(_METHOD)(self._requests())
        async for _ in call:  # without interim results, each is a final one
            now = time.monotonic()
            if self._ends:
                self.latencies_ms.append(1000 * (now - self._ends.pop(0)))
        if self._ends:
            raise ProgramError(f"riva: {len(self._ends)} ends of speech have no text")

    async def _requests(self) -> AsyncIterator[bytes]:
        yield _start()
        packet = int(_PACKET_S * RATE_HZ)
        begin, turn_end = time.monotonic(), self._next_end(0)
        for at in range(0, len(self._audio), packet):
            end = at + packet
            await asyncio.sleep(begin + end / RATE_HZ - time.monotonic())
            request = _bytes(2, self._audio[at:end].tobytes())
            if turn_end <= end < len(self._audio):
                turn_end = self._next_end(end)
                self._ends.append(time.monotonic())
                request += _FORCE_EOU
            yield request

    def _next_end(self, begin: int) -> int:
        return begin + int(self._turn_s * self._random.uniform(0.5, 1.5) * RATE_HZ)


async def _run(calls: List[_Call], port: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}",
                                         [("grpc.enable_http_proxy", 0)]) as channel:
        await asyncio.gather(*(call.run(channel, 0.25 * i) for i, call in enumerate(calls)))


def riva_turns(port: int, audios: List[np.ndarray], count: int, turn_s: float) -> List[float]:
    """Milliseconds from each end of speech to its final text, of `count` calls at once.

    Args:
        audios: (samples,) int16 each, which the calls share.
        turn_s: mean duration of a turn.
    """
    calls = [_Call(audios[i % len(audios)], turn_s, i) for i in range(count)]
    try:
        asyncio.run(_run(calls, port))
    except grpc.aio.AioRpcError as error:
        raise ProgramError(f"riva: {error.details()}") from None
    return [latency for call in calls for latency in call.latencies_ms]
