"""A client of our own protocol that resumes its stream until it has every utterance, for tests."""

import json
import threading
from typing import Any, Dict, Iterable, List, Optional

import numpy as np

from server_process import pcm16
from websocket_client import Closed, WebSocket

PACKET = 1600  # samples


class ResumingClient:
    """Sends a recording with flushes at some of its samples, over connections that may be lost.

    Fails when an utterance is missing or comes a second time.
    """

    def __init__(self, ports: Iterable[int], samples: np.ndarray, rate: int,
                 flushes: Iterable[int] = (), stops: Iterable[int] = (), **options: Any):
        """`stops`: samples after which the first connections wait for the server to end."""
        self.stops = list(stops)
        self.ports, self.audio, self.rate = list(ports), pcm16(samples), rate
        self.flushes, self.options = sorted(flushes), options
        self.utterances: List[Dict[str, Any]] = []
        self.num_connections = 0
        self.num_resumed = 0
        self.num_characters = 0  # received
        self.failure: Optional[str] = None
        self._token: Optional[str] = None
        self._begun_anew = 0  # utterances that the client had when the stream began anew
        self._is_over = False

    def run(self) -> List[Dict[str, Any]]:
        """All utterances, the last one from `final`, without what depends on time."""
        while not self._is_over:
            port = self.ports[self.num_connections % len(self.ports)]
            self.num_connections += 1
            try:
                with WebSocket(port) as socket:
                    self._converse(socket)
            except (Closed, OSError):
                pass
            assert self.failure is None, self.failure
            assert self.num_connections < 200
        return self.utterances

    def _converse(self, socket: WebSocket) -> None:
        if self._token is None:
            socket.send_json(type="start", version=1, sample_rate=self.rate, resume=True,
                             **self.options)
            self._begun_anew = len(self.utterances)
        else:
            socket.send_json(type="resume", version=1, token=self._token,
                             utterances=len(self.utterances))
        first = socket.receive_json()
        if first["type"] == "error":
            return self._on_error(first)
        if first["type"] == "resumed":
            self.num_resumed += 1
            self._begun_anew = 0
            if first["utterances"] != len(self.utterances):
                self.failure = f"{len(self.utterances)} utterances, then {first}"
        reader = threading.Thread(target=self._read, args=(socket,))
        reader.start()
        try:
            self._send(socket, first.get("samples", 0))
        except OSError:
            pass  # the reader notices it too
        reader.join()

    def _send(self, socket: WebSocket, position: int) -> None:
        num_samples = len(self.audio) // 2
        stop = (self.stops + [num_samples] * self.num_connections)[self.num_connections - 1]
        for end in [flush for flush in self.flushes if flush >= position] + [num_samples]:
            while position < end:
                size = min(PACKET, end - position, stop - position)
                if size <= 0:
                    return  # the server ends the connection
                socket.send_bytes(self.audio[2 * position:2 * (position + size)])
                position += size
            if end in self.flushes:
                socket.send_json(type="flush")
        socket.send_json(type="finish")

    def _read(self, socket: WebSocket) -> None:
        try:
            while not self._is_over and self.failure is None:
                text = socket.receive()
                self.num_characters += len(text)
                self._on_message(json.loads(text))
        except (Closed, OSError):
            pass
        except Exception as error:  # a thread's assertions would be lost  # pylint: disable=W0718
            self.failure = repr(error)
        finally:
            socket.socket.close()  # ends the sender too

    def _on_message(self, message: Dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "error":
            self._on_error(message)
        elif kind == "snapshot":
            self._token = message["token"]
        elif kind in ("utterance", "final"):
            if message["index"] < self._begun_anew:
                return
            if message["index"] != len(self.utterances):
                self.failure = f"{len(self.utterances)} utterances, then {message}"
            for name in ("type", "latency_ms"):
                del message[name]
            self.utterances.append(message)
            self._is_over = kind == "final"

    def _on_error(self, message: Dict[str, Any]) -> None:
        if message["code"] == "snapshot_unknown":
            self._token = None
        elif message["code"] != "draining":
            self.failure = str(message)
