"""Attacks on a server, for the soak and for tests. Most clients stay within its limits.

    python3 -m tools.benchmark.soak.attacks KIND PORT [GRPC_PORT WYOMING_PORT]

Each kind is a function that runs one attack; threads repeat it from addresses other than
127.0.0.1. What they try to take, honest clients of other addresses must keep.
"""

import argparse
import base64
import contextlib
import dataclasses
import functools
import io
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import threading
from typing import Callable, Dict, List, Optional

import numpy as np
import soundfile

from tools.benchmark.pages.command import ROOT
from tools.benchmark.soak.attack_client import (BINARY, TEXT, Attacker, Round, Target, frame,
                                                message, start)
from tools.benchmark.soak.disorder import disconnections, garbage
from tools.benchmark.soak.recordings import SAMPLES

OPENAI, DEEPGRAM = "/v1/realtime", "/v1/listen"
_KIB = 1 << 10
_MIB = 1 << 20
_PAUSE_S = 0.02  # after an attack that was refused
_WORDS = "zero one two three four five six seven eight nine oh".split()


# 1000 bytes are a second of audio: much work for few bytes.
DENSE = {"encoding": "mulaw", "sample_rate": 1000}


@functools.lru_cache(maxsize=None)
def nested_json(size: int) -> bytes:
    return frame(TEXT, b'{"type":"x","a":[' + b"{}," * (size // 3) + b"{}]}")


def quadratic_json(round_: Round) -> None:
    """A message of 3 MB that is an array of empty objects."""
    with round_.socket(OPENAI) as socket:
        socket.send(nested_json(3 * _MIB))
        while round_.pause(0.1):
            socket.discard()


def small_quadratic_json(round_: Round) -> None:
    """The same in messages of 60 KB, again and again."""
    with round_.socket(DEEPGRAM + "?encoding=linear16&sample_rate=16000") as socket:
        keep_alive = frame(TEXT, b'{"type":"KeepAlive","x":[' + b"{}," * 20000 + b"{}]}")
        while round_.pause(0):
            socket.send(keep_alive)
            socket.discard()


def slow_uploads(round_: Round) -> None:
    """A recording of which a byte comes now and then."""
    with Attacker(round_.target.port, round_.source) as connection:
        connection.send(b"POST /v1/recognize HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: 1000000\r\n\r\nRIFF")
        while round_.pause(0.5):
            connection.send(b"x")


def openai_appends(round_: Round) -> None:
    """Audio of half an hour in one message of 20 MB, in the smallest encoding."""
    audio = base64.b64encode(bytes(15 * _MIB - 3))
    with round_.socket(OPENAI) as socket:
        socket.send(message(type="session.update", session={"audio": {"input": {
            "format": {"type": "audio/pcmu"}}}}))
        socket.send(frame(TEXT, b'{"type":"input_audio_buffer.append","audio":"' + audio + b'"}'))
        while round_.pause(0.5):
            socket.discard()


@functools.lru_cache(maxsize=None)
def opus_file(seconds: int) -> bytes:
    """Noise in stereo, in Ogg Opus."""
    noise = np.random.default_rng(1).normal(0, 0.2, (48000 * seconds, 2)).astype(np.float32)
    file = io.BytesIO()
    soundfile.write(file, noise, 48000, format="OGG", subtype="OPUS")
    return file.getvalue()


def opus_flood(round_: Round) -> None:
    """Ogg Opus as fast as the server reads it."""
    audio = opus_file(20)
    with round_.socket(DEEPGRAM + "?encoding=ogg-opus") as socket:
        for begin in itertools.cycle(range(0, len(audio), 60000)):
            if not round_.pause(0):
                return
            socket.send(frame(BINARY, audio[begin:begin + 60000]))
            socket.discard()


@functools.lru_cache(maxsize=None)
def many_hotwords() -> str:
    lines = itertools.islice((" ".join(words) for words in itertools.product(_WORDS, repeat=5)),
                             2500)
    return "\n".join(lines)[:62000]


def hotword_starts(round_: Round) -> None:
    """Streams with as many hotwords as a message holds."""
    with round_.socket() as socket:
        socket.send(start(hotwords=many_hotwords()))
        socket.receive()


def vanishing_clients(round_: Round) -> None:
    """A quarter of an hour of audio in one message; then the client is gone."""
    with round_.socket(DEEPGRAM + "?encoding=mulaw&sample_rate=1000") as socket:
        socket.send(frame(BINARY, b"\xff" * (_MIB - _KIB)))


def flush_and_leave(round_: Round) -> None:
    """A flush, a little more audio, and an end a few milliseconds later."""
    rate = random.choice([8000, 44100, 48000])
    with round_.socket() as socket:
        socket.send(start(sample_rate=rate))
        socket.receive()
        socket.send(frame(BINARY, bytes(2 * rate)) + message(type="flush")
                    + frame(BINARY, bytes(rate // 5 * 2)))
        round_.pause(random.uniform(0.002, 0.025))


def take_snapshot(round_: Round) -> str:
    """Sends half a minute of dense audio and returns the token of its snapshot, of about 2 MB."""
    with round_.socket() as socket:
        socket.send(start(resume=True, left_context=512, chunk_size=64, **DENSE))
        socket.send(frame(BINARY, b"\x7f" * 28000))
        token: str = json.loads(socket.receive_with(b'"snapshot"'))["token"]
        return token


def resume_flood(round_: Round) -> None:
    """One token, resumed again and again."""
    token = take_snapshot(round_)
    while round_.pause(0):
        with round_.socket() as socket:
            socket.send(message(type="resume", version=1, token=token))
            socket.receive()


def store_fill(round_: Round) -> None:
    """Large snapshots of clients that vanish."""
    take_snapshot(round_)


def idle_slots(round_: Round) -> None:
    """A stream slot that is held by pings only."""
    with round_.socket() as socket:
        while round_.pause(1):
            socket.send(message(type="ping"))
            socket.discard()


def describe_flood(round_: Round) -> None:
    """Questions as fast as possible, whose answers are longer than they are."""
    with Attacker(round_.target.wyoming_port, round_.source) as connection:
        while round_.pause(0):
            connection.send(b'{"type":"describe"}\n' * 500)
            connection.discard()


_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def http2(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame."""
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        "!I", stream) + payload


def session_keys(round_: Round) -> None:
    """An OpenAI session whose every update has 5000 new fields."""
    with round_.socket(OPENAI) as socket:
        for first in itertools.count(0, 5000):
            if not round_.pause(0):
                return
            fields = {str(number): 0 for number in range(first, first + 5000)}
            socket.send(message(type="session.update", session={"audio": {"input": {
                "transcription": fields}}}))
            socket.discard()


def media_slots(round_: Round) -> None:
    """A process that decodes the beginning of a file, of which no more comes."""
    flac = (SAMPLES / "ked_year.flac").read_bytes()
    with round_.socket(DEEPGRAM) as socket:
        socket.send(frame(BINARY, flac[:len(flac) // 2]))
        while round_.pause(1):
            socket.send(message(type="KeepAlive"))
            socket.discard()


def goaway_flood(round_: Round) -> None:
    """A client that says again and again that it goes away."""
    with Attacker(round_.target.grpc_port, round_.source) as connection:
        connection.send(_HTTP2 + http2(4, 0, 0))
        frames = http2(7, 0, 0, bytes(8)) * 2000
        while round_.pause(0):
            connection.send(frames)
            connection.discard()


def idle_frames(round_: Round) -> None:
    """Frames of HTTP/2 that do no work of a call: of every kind, of no or of a closed stream."""
    kinds = itertools.product((0, 1, 2, 3, 4, 6, 8, 32), (0, 1), (0, 1))
    with Attacker(round_.target.grpc_port, round_.source) as connection:
        connection.send(_HTTP2 + http2(4, 0, 0))
        kind, flags, stream = random.choice(list(kinds))
        frames = http2(kind, flags, stream, bytes(8)) * 2000
        while round_.pause(0):
            connection.send(frames)
            connection.discard()


def connection_churn(round_: Round) -> None:
    """Connections of each port that are dropped at once."""
    for port in round_.target:
        for _ in range(100):
            with Attacker(port, round_.source) as connection:
                connection.send(_HTTP2 + http2(4, 0, 0))


def grpc_resets(round_: Round) -> None:
    """Calls that are cancelled at once (CVE-2023-44487)."""
    fields = {":method": "POST", ":scheme": "http", ":authority": "x",
              ":path": "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize",
              "content-type": "application/grpc", "te": "trailers"}
    head = b"".join(b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)])
                    + value.encode() for name, value in fields.items())
    cancel = struct.pack("!I", 8)
    with Attacker(round_.target.grpc_port, round_.source) as connection:
        connection.send(_HTTP2 + http2(4, 0, 0))
        for first in itertools.count(1, 400):
            if not round_.pause(0):
                return
            connection.send(b"".join(http2(1, 4, stream, head) + http2(3, 0, stream, cancel)
                                     for stream in range(first, first + 400, 2)))
            connection.discard()


def log_flood(round_: Round) -> None:
    """Messages whose errors name the client's text, with characters that turn a terminal's."""
    with round_.socket() as socket:
        socket.send(start(**{"\u202e" * 60: 1}))
        socket.receive()


def costly_options(round_: Round) -> None:
    """The most computing that one stream may ask for, at the highest speed."""
    with round_.socket() as socket:
        socket.send(start(chunk_size=64, left_context=512, search="beam", beam_size=32,
                          early_text=8, **DENSE))
        noise = frame(BINARY, random.randbytes(1000))
        while round_.pause(0):
            socket.send(noise)
            socket.discard()


def waiting_audio(round_: Round) -> None:
    """Audio of the highest rate, faster than it can be computed."""
    with round_.socket() as socket:
        socket.send(start(sample_rate=48000, chunk_size=64, left_context=512, search="beam",
                          beam_size=32))
        second = frame(BINARY, random.randbytes(96000))
        while round_.pause(0):
            socket.send(second)
            socket.discard()


@dataclasses.dataclass(frozen=True)
class Kind:
    """An attack, and how many of its clients there are at once, from how many addresses."""

    attack: Callable[[Round], None]
    clients: int
    addresses: int = 1


KINDS: Dict[str, Kind] = {kind.attack.__name__: kind for kind in (
    Kind(quadratic_json, 4), Kind(small_quadratic_json, 4), Kind(slow_uploads, 16),
    Kind(openai_appends, 50), Kind(opus_flood, 40), Kind(hotword_starts, 60),
    Kind(vanishing_clients, 20), Kind(flush_and_leave, 8), Kind(resume_flood, 40),
    Kind(store_fill, 12), Kind(idle_slots, 500, 5), Kind(describe_flood, 4), Kind(grpc_resets, 4),
    Kind(log_flood, 4), Kind(costly_options, 100), Kind(waiting_audio, 100), Kind(garbage, 8),
    Kind(disconnections, 20), Kind(session_keys, 6), Kind(media_slots, 40),
    Kind(goaway_flood, 4), Kind(idle_frames, 8), Kind(connection_churn, 4))}


class _Clients:
    """The clients of one attack, each in a thread that ends with the process."""

    def __init__(self, name: str, target: Target) -> None:
        self.rounds = 0  # that began
        self._kind = KINDS[name]
        self._target = target
        self._stop = threading.Event()
        for index in range(self._kind.clients):
            threading.Thread(target=self._repeat, args=(index,), daemon=True).start()

    def _repeat(self, index: int) -> None:
        source = f"127.0.1.{1 + index % self._kind.addresses}"
        while True:
            self.rounds += 1
            with contextlib.suppress(OSError):  # refused, cut off, or the server is too slow
                self._kind.attack(Round(self._target, source, self._stop))
            self._stop.wait(_PAUSE_S)


class Attack:
    """Runs an attack in a process of its own, at the lowest priority: attackers have machines of
    their own, so they do not take processors from the server and from who measures."""

    def __init__(self, name: str, target: Target) -> None:
        self.rounds = 0  # known at the end
        # Its standard input is its life.
        self._process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-m", __name__, name, *map(str, target)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})

    def __enter__(self) -> "Attack":
        return self

    def __exit__(self, *_: object) -> None:
        output = self._process.communicate()[0]
        self.rounds = int(output)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs one attack until the standard input ends, and prints the number of rounds."""
    parser = argparse.ArgumentParser(description=str(__doc__),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("ports", type=int, nargs="+")
    args = parser.parse_args(arguments)
    clients = _Clients(args.kind, Target(*args.ports))
    sys.stdin.read()
    print(clients.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
