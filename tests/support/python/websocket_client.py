"""A small WebSocket client (RFC 6455) on plain sockets, for tests of the server."""

import base64
import json
import os
import socket
import struct
from typing import Any, Dict, NamedTuple, Optional, Tuple

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

# A guard against hanging, never a measure.
PATIENCE_S = 120


class Refused(Exception):
    """The server answered the upgrade with something else."""

    def __init__(self, status: int, headers: Dict[str, str], body: bytes):
        super().__init__(f"{status}: {body!r}")
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self) -> Dict[str, Any]:
        return json.loads(self.body)["error"]

    @property
    def code(self) -> str:
        return self.error["code"]


class Closed(Exception):
    """The server closed the connection; code 1006: without a close frame."""

    def __init__(self, code: int, reason: str = ""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: Dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def connect(port: int, tls: Any = None, receive_buffer: Optional[int] = None) -> socket.socket:
    """A TCP connection to the server, with TLS when an SSLContext is given."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    raw.settimeout(PATIENCE_S)
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        # The server's system sizes its own buffer by the segments.
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    raw.connect(("127.0.0.1", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return tls.wrap_socket(raw, server_hostname="localhost") if tls else raw


def read_chunks(connection: socket.socket, buffered: bytes) -> Tuple[bytes, bytes]:
    """Reads a chunked body; returns it and what came after it."""
    body, size = b"", None
    while True:
        if size is None and b"\r\n" in buffered:
            line, buffered = buffered.split(b"\r\n", 1)
            size = int(line, 16)
        elif size is not None and len(buffered) >= size + 2:
            body, buffered = body + buffered[:size], buffered[size + 2:]
            if size == 0:
                return body, buffered
            size = None
        else:
            piece = connection.recv(65536)
            if not piece:
                raise Closed(1006)
            buffered += piece


def read_answer(connection: socket.socket, buffered: bytes = b"") -> Tuple[Answer, bytes]:
    """Reads an HTTP answer; returns it and what came after it."""
    while b"\r\n\r\n" not in buffered:
        piece = connection.recv(65536)
        if not piece:
            raise Closed(1006)
        buffered += piece
    head, rest = buffered.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, value in
               (line.split(":", 1) for line in lines)}
    status = int(first.split()[1])
    if headers.get("transfer-encoding") == "chunked":
        body, rest = read_chunks(connection, rest)
        return Answer(status, headers, body), rest
    length = int(headers.get("content-length", 0)) if status >= 200 else 0
    while len(rest) < length:
        piece = connection.recv(65536)
        if not piece:
            raise Closed(1006)
        rest += piece
    return Answer(status, headers, rest[:length]), rest[length:]


def request(port: int, target: str, method: str = "GET", body: Optional[bytes] = None,
            headers: Optional[Dict[str, str]] = None, tls: Any = None) -> Answer:
    """One HTTP request over a connection of its own."""
    lines = {"Host": "localhost", "Connection": "close", **(headers or {})}
    if body is not None:
        lines.setdefault("Content-Length", str(len(body)))
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    with connect(port, tls) as connection:
        try:
            connection.sendall(head.encode() + b"\r\n" + (body or b""))
        except (ConnectionResetError, BrokenPipeError):
            pass  # the answer may be there all the same
        return read_answer(connection)[0]


class WebSocket:
    """One connection, upgraded. Use as a context manager: leaving it cuts the connection."""

    def __init__(self, port: int, target: str = "/v1/stream",
                 headers: Optional[Dict[str, str]] = None, tls: Any = None,
                 receive_buffer: Optional[int] = None):
        self.socket = connect(port, tls, receive_buffer)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13", **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.socket.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
        answer, self.buffered = read_answer(self.socket)
        if answer.status != 101:
            self.socket.close()
            raise Refused(*answer)
        self.headers = answer.headers

    def __enter__(self) -> "WebSocket":
        return self

    def __exit__(self, *_: Any) -> None:
        self.socket.close()

    def send_frame(self, opcode: int, payload: bytes, final: bool = True) -> None:
        """One frame, masked by zeros, which leaves the payload as it is."""
        if len(payload) < 126:
            length = bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            length = struct.pack("!BH", 0x80 | 126, len(payload))
        else:
            length = struct.pack("!BQ", 0x80 | 127, len(payload))
        self.socket.sendall(bytes([0x80 * final | opcode]) + length + bytes(4) + payload)

    def send_json(self, **message: Any) -> None:
        self.send_frame(TEXT, json.dumps(message).encode())

    def send_text(self, text: str) -> None:
        self.send_frame(TEXT, text.encode())

    def send_bytes(self, payload: bytes) -> None:
        self.send_frame(BINARY, payload)

    def _take(self, count: int) -> bytes:
        while len(self.buffered) < count:
            try:
                piece = self.socket.recv(65536)
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed(1006)
            self.buffered += piece
        taken, self.buffered = self.buffered[:count], self.buffered[count:]
        return taken

    def receive_frame(self) -> Tuple[int, bytes]:
        first, second = self._take(2)
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", self._take(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self._take(8))[0]
        assert not second & 0x80 and first & 0x80, "a server's frame, whole and without mask"
        return first & 0x0F, self._take(length)

    def receive(self) -> str:
        """The next text message. Raises Closed when the server closes."""
        while True:
            opcode, payload = self.receive_frame()
            if opcode == TEXT:
                return payload.decode("utf-8")
            if opcode == PING:
                self.send_frame(PONG, payload)
            if opcode == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                try:
                    self.send_frame(CLOSE, payload[:2])
                except OSError:
                    pass
                raise Closed(code, payload[2:].decode("utf-8"))

    def receive_json(self) -> Dict[str, Any]:
        message = json.loads(self.receive())
        assert isinstance(message, dict)
        return message

    def receive_until(self, kind: str) -> Dict[str, Any]:
        """The next message of our own protocol that is of `type`; others are passed over."""
        while True:
            message = self.receive_json()
            if message["type"] == kind:
                return message
            assert message["type"] != "error", message

    def closed(self) -> Closed:
        """Reads to the end; how the server closed."""
        try:
            while True:
                self.receive()
        except Closed as closed:
            return closed

    def close_code(self) -> int:
        """Reads to the end; the code with which the server closed."""
        return self.closed().code
