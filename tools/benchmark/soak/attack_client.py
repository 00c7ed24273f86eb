"""Connections of attackers: plain sockets that send what a proper client would not."""

import base64
import contextlib
import json
import os
import socket
import struct
import threading
from typing import Any, Dict, Iterator, NamedTuple, Optional

TEXT, BINARY = 1, 2
_TIMEOUT_S = 10.0


class Target(NamedTuple):
    """The ports of a server on this machine; 0: not open."""

    port: int
    grpc_port: int = 0
    wyoming_port: int = 0


def frame(opcode: int, payload: bytes) -> bytes:
    """A WebSocket frame, masked by zeros, which leaves the payload as it is."""
    if len(payload) < 126:
        head = bytes([0x80 | len(payload)])
    elif len(payload) < 1 << 16:
        head = struct.pack("!BH", 0x80 | 126, len(payload))
    else:
        head = struct.pack("!BQ", 0x80 | 127, len(payload))
    return bytes([0x80 | opcode]) + head + bytes(4) + payload


def message(**fields: Any) -> bytes:
    """A text message of JSON."""
    return frame(TEXT, json.dumps(fields).encode())


def start(**options: Any) -> bytes:
    return message(type="start", version=1, **options)


class Attacker:
    """One connection from an address of the loopback network. Leaving its context resets it."""

    def __init__(self, port: int, source: str) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(_TIMEOUT_S)
        self._received = b""
        try:
            self.socket.bind((source, 0))
            self.socket.connect(("127.0.0.1", port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> "Attacker":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def discard(self) -> None:
        """Reads what there is, without waiting."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(1 << 16):
                pass
        self.socket.settimeout(_TIMEOUT_S)

    def upgrade(self, path: str = "/v1/stream") -> None:
        """Makes the connection a WebSocket."""
        key = base64.b64encode(os.urandom(16)).decode()
        self.send((f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                   f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                   "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        head = self._take_until(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionRefusedError(head[:80])

    def receive(self) -> bytes:
        """The payload of the next frame."""
        size = self._take(2)[1] & 0x7F
        if size == 126:
            size, = struct.unpack("!H", self._take(2))
        elif size == 127:
            size, = struct.unpack("!Q", self._take(8))
        return self._take(size)

    def receive_with(self, part: bytes) -> bytes:
        """The next payload that contains `part`."""
        while part not in (payload := self.receive()):
            if b'"error"' in payload:
                raise ConnectionRefusedError(payload[:80])
        return payload

    def read_answer(self) -> bytes:
        """All of an HTTP answer whose connection the server closes."""
        while piece := self.socket.recv(1 << 16):
            self._received += piece
        return self._received

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive_more()
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _take_until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._receive_more()
        return self._take(self._received.index(end) + len(end))

    def _receive_more(self) -> None:
        piece = self.socket.recv(1 << 16)
        if not piece:
            raise ConnectionResetError("closed")
        self._received += piece


@contextlib.contextmanager
def web_socket(target: Target, source: str, path: str = "/v1/stream") -> Iterator[Attacker]:
    """A WebSocket, which is reset at the end."""
    with Attacker(target.port, source) as attacker:
        attacker.upgrade(path)
        yield attacker


class Round:
    """What one attack knows: the server, its own address, and when to stop."""

    def __init__(self, target: Target, source: str, stop: threading.Event) -> None:
        self.target = target
        self.source = source
        self.stop = stop

    def socket(self, path: str = "/v1/stream") -> Any:
        return web_socket(self.target, self.source, path)

    def pause(self, seconds: float) -> bool:
        """Whether the attack goes on after that time."""
        return not self.stop.wait(seconds)


def ask(target: Target, source: str, path: str, body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None) -> bytes:
    """The whole answer to an HTTP request on a connection of its own."""
    lines = {"Host": "localhost", "Connection": "close", **(headers or {})}
    if body is not None:
        lines["Content-Length"] = str(len(body))
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in lines.items())
    with Attacker(target.port, source) as connection:
        connection.send(head.encode() + b"\r\n" + (body or b""))
        return connection.read_answer()
