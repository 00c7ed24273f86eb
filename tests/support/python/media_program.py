"""Speaks with the program media_decoder as MediaProcess does (frontend/media/media_protocol.h)."""

import os
import socket
import struct
import subprocess

import numpy as np

FORMAT, SAMPLES, HUNGRY, END, ERROR, WARNING = 1, 2, 3, 4, 5, 6
LIMIT_S = 60


class Decoded:
    """What a decoder has sent."""

    def __init__(self):
        self.rate_hz = 0
        self.channels = 0
        self.samples = np.zeros(0, np.float32)
        self.missing = 0
        self.error = ""
        self.warnings = []
        self.num_hungry = 0


class MediaProgram:
    """A running media_decoder; use it in a with statement."""

    def __init__(self, program, mode, container, channel=-1, track=-1,
                 file=subprocess.DEVNULL, strict=False):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(LIMIT_S)
        with theirs:
            self.process = subprocess.Popen(
                [str(program), mode, container, str(channel), str(track),
                 "strict" if strict else "lenient"], stdin=file, stdout=theirs.fileno(),
                env={name: os.environ[name] for name in ("ASAN_OPTIONS",) if name in os.environ})
        self.decoded = Decoded()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()

    def _receive(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError(f"media_decoder ended with {self.process.wait()}")
            data += piece
        return data

    def read(self):
        """Reads replies until the decoder is hungry, HUNGRY, or has sent its last, END or ERROR."""
        blocks = [self.decoded.samples]
        while True:
            kind, size = struct.unpack("<II", self._receive(8))
            body = self._receive(size)
            if kind == FORMAT:
                assert self.decoded.rate_hz == 0
                self.decoded.rate_hz, self.decoded.channels = struct.unpack("<ii", body)
            elif kind == SAMPLES:
                assert self.decoded.rate_hz > 0
                blocks.append(np.frombuffer(body, np.float32))
            elif kind == WARNING:
                self.decoded.warnings.append(body.decode())
            elif kind == HUNGRY:
                self.decoded.num_hungry += 1
            elif kind == END:
                self.decoded.missing, = struct.unpack("<q", body)
            elif kind == ERROR:
                self.decoded.error = body.decode()
            else:
                raise ValueError(f"a reply of type {kind}")
            if kind in (HUNGRY, END, ERROR):
                self.decoded.samples = np.concatenate(blocks)
                return kind

    def give(self, data):
        """Sends a request."""
        self.socket.sendall(struct.pack("<I", len(data)) + data)


def decode_file(program, path, container, channel=-1, track=-1, strict=False):
    """Decodes a whole file."""
    with open(path, "rb") as file, MediaProgram(program, "file", container, channel, track,
                                                file, strict) as media:
        media.read()
        return media.decoded


def decode_pieces(program, pieces, container, strict=False):
    """Decodes a stream that comes in these pieces."""
    with MediaProgram(program, "stream", container, strict=strict) as media:
        for piece in list(pieces) + [b""]:
            if media.read() != HUNGRY:
                return media.decoded
            media.give(piece)
        media.read()
        return media.decoded
