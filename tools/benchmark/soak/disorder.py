"""Attackers that send what no proper client sends, and clients that leave when none would.

Both choose at random. The server may answer whatever it likes: what counts is that it serves
others.
"""

import functools
import json
import random
import time
from typing import Callable, List, Tuple

import numpy as np

from tools.benchmark.soak.attack_client import (BINARY, TEXT, Attacker, Round, frame, message,
                                                start)

_START = start(sample_rate=16000, encoding="pcm16")
_WENET_START = message(signal="start", nbest=1, continuous_decoding=False)
_FINISH = message(type="finish")
_DONE = frame(TEXT, b"Done")

# Payloads of valid messages, some bytes of which are changed.
_MESSAGES = [
    *(json.dumps(fields).encode() for fields in (
        {"type": "start", "version": 1, "sample_rate": 16000, "encoding": "pcm16"},
        {"type": "start", "version": 1, "chunk_size": 16, "search": "beam", "nbest": 3},
        {"type": "start", "version": 1, "sample_rate": 8000, "encoding": "opus"},
        {"type": "resume", "version": 1, "token": "0123456789abcdef"},
        {"type": "finish"}, {"type": "cancel"}, {"signal": "start"}, {"signal": "end"})),
    b'{"type":"start","version":1,"sample_rate":1e99,"resume":true,"tokens":[[[[[[[]]]]]]]}',
    b'{"type":"ping","id":"\\ud800\\u0000"}', b"Done"]
_JSON_BYTES = b'{}[]",:\\0e-.\xff\xc0\x80 ntu'
_MOST_HUGE = 48 << 20


def _up_to(count: int) -> bytes:
    return random.randbytes(random.randint(0, count))


def _random_bytes(connection: Attacker) -> None:
    connection.send(random.randbytes(random.randint(1, 5000)))


def _broken_tls(connection: Attacker) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    connection.send(hello + _up_to(600))


def _half_a_header(connection: Attacker) -> None:
    connection.send(b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nX-Filler: "
                    + b"a" * random.randint(0, 60000))


def _upload_of_garbage(connection: Attacker) -> None:
    body = random.choice([b"RIFF", b"fLaC"]) + _up_to(20000)
    size = len(body) + random.choice([0, random.randint(1, 1 << 30)])
    connection.send(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
                    + body)


def _nothing(_: Attacker) -> None:
    pass


def _random_messages(connection: Attacker) -> None:
    for _ in range(random.randint(1, 20)):
        connection.send(frame(*random.choice([(TEXT, _up_to(300)), (BINARY, _up_to(3000))])))


def _changed(payload: bytes) -> bytes:
    place = random.randrange(len(payload) + 1)
    before, after = payload[:place], payload[place:]
    byte = bytes([random.choice(_JSON_BYTES)])
    return random.choice([before + byte + after[1:], before + byte + after,
                          before + after[random.randint(1, 8):],
                          before + after[:random.randint(1, 40)] + after])


def _nearly_right_json(connection: Attacker) -> None:
    for _ in range(random.randint(1, 4)):
        payload = random.choice(_MESSAGES)
        for _ in range(random.randint(0, 3)):
            payload = _changed(payload)
        connection.send(frame(TEXT, payload))


def _start_twice(connection: Attacker) -> None:
    first = random.choice([_START, _WENET_START])
    connection.send(first + frame(BINARY, _up_to(40000)) + first)


def _text_for_audio(connection: Attacker) -> None:
    connection.send(_START + frame(TEXT, b"a" * random.randint(0, 4000)))


def _odd_bytes(connection: Attacker) -> None:
    odd = frame(BINARY, random.randbytes(2 * random.randint(0, 20000) + 1))
    connection.send(random.choice([_START + odd + _FINISH, odd + _DONE]))


def _no_numbers(connection: Attacker) -> None:
    samples = np.array(random.choices([np.nan, np.inf, 3e38, -1e30], k=10000), np.float32)
    connection.send(frame(BINARY, samples.tobytes()) + _DONE)


def _huge_message(connection: Attacker) -> None:
    size = random.randint(1 << 20, _MOST_HUGE)
    if random.random() < 0.5:
        connection.send(frame(TEXT, b"[" * size))
    else:
        connection.send(_START + frame(BINARY, b"\x7f" * size))


def _wrong_frames(connection: Attacker) -> None:
    connection.send(random.choice([
        b"\x82\xff\x40" + bytes(11) + _up_to(20000),  # a message of 2^62 bytes
        b"\x81\x05hello",  # without a mask
        b"\x00\x81\x01\x02\x03\x04a" * random.randint(1, 2000),  # endless fragments
        b"\x89\x84\x01\x02\x03\x04ping" * random.randint(1, 2000),
        _up_to(3000)]))


def _wrong_order(connection: Attacker) -> None:
    for _ in range(random.randint(2, 8)):
        connection.send(random.choice([frame(BINARY, _up_to(8000)),
                                       frame(TEXT, random.choice(_MESSAGES))]))


def _never_read(connection: Attacker) -> None:
    connection.send(_START)
    for _ in range(random.randint(1, 100)):
        connection.send(frame(BINARY, bytes(2 * random.randint(1, 4000))))
    connection.send(random.choice([b"", _FINISH]))


_ON_TCP = [_random_bytes, _broken_tls, _half_a_header, _upload_of_garbage, _nothing]
_ON_WEB_SOCKET: List[Callable[[Attacker], None]] = [
    _nothing, _random_messages, _nearly_right_json, _start_twice, _text_for_audio, _odd_bytes,
    _no_numbers, _huge_message, _wrong_frames, _wrong_order, _never_read]


def garbage(round_: Round) -> None:
    """Bytes that are no TLS, HTTP, WebSocket or JSON, messages out of order, and no reading."""
    attack = random.choice(_ON_TCP + _ON_WEB_SOCKET)
    leaving = time.monotonic() + random.uniform(0.02, 2)
    with Attacker(round_.target.port, round_.source) as connection:
        if attack in _ON_WEB_SOCKET:
            connection.upgrade()
        attack(connection)
        while round_.pause(0.02) and time.monotonic() < leaving:
            if attack is not _never_read:
                connection.discard()


def _packets(dtype: str, scale: float) -> List[bytes]:
    """Two seconds of noise, in messages of 100 ms."""
    noise = np.random.default_rng(1).normal(0, 0.1, 32000).clip(-1, 1) * scale
    return [frame(BINARY, packet.astype(dtype).tobytes()) for packet in np.split(noise, 20)]


@functools.lru_cache(maxsize=None)
def _protocols() -> List[Tuple[bytes, List[bytes], bytes, int]]:
    """First message, audio, last message, and the number of answers up to the first result."""
    pcm16, float32 = _packets("<i2", 32767), _packets("<f4", 1)
    return [(_START, pcm16, _FINISH, 2), (_WENET_START, pcm16, message(signal="end"), 2),
            (b"", float32, _DONE, 1)]  # Runnel, WeNet, sherpa-onnx


def disconnections(round_: Round) -> None:
    """A client that is gone without a word, at any moment of a stream, in three protocols."""
    first, audio, last, num_answers = random.choice(_protocols())
    moment = random.choice(["connected", "upgraded", "started", "speaking", "finished", "answered"])
    with Attacker(round_.target.port, round_.source) as connection:
        if moment == "connected":
            return
        connection.upgrade()
        if moment == "upgraded":
            return
        connection.send(first)
        if moment == "started":
            return
        if moment == "speaking":
            connection.send(b"".join(audio[:random.randint(1, len(audio))]))
            return
        connection.send(b"".join(audio) + last)
        if moment == "answered":
            for _ in range(num_answers):
                connection.receive()
