"""A client of the Wyoming protocol, written from its description: framed events over TCP."""

import json
import socket
from typing import Any, Dict, List, Optional, Tuple

from websocket_client import PATIENCE_S

Event = Tuple[str, Dict[str, Any]]


def framed(kind: str, payload: bytes = b"", **data: Any) -> bytes:
    """An event as the reference library writes it: its data follow the line."""
    header: Dict[str, Any] = {"type": kind, "version": "1.9.0"}
    body = json.dumps(data).encode() if data else b""
    if body:
        header["data_length"] = len(body)
    if payload:
        header["payload_length"] = len(payload)
    return json.dumps(header).encode() + b"\n" + body + payload


class Wyoming:
    """A connection; its context closes it."""

    def __init__(self, port: int, address: str = "127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S,
                                               source_address=(address, 0))
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> "Wyoming":
        return self

    def __exit__(self, *_: Any) -> None:
        self.file.close()
        self.socket.close()

    def send(self, kind: str, payload: bytes = b"", **data: Any) -> None:
        self.socket.sendall(framed(kind, payload, **data))

    def receive(self) -> Optional[Event]:
        """The next event but pings, which a busy server may send at any time; None at its end."""
        event = self.receive_any()
        while event is not None and event[0] == "ping":
            event = self.receive_any()
        return event

    def receive_any(self) -> Optional[Event]:
        """The next event of the server; None when it has closed the connection."""
        line = self.file.readline()
        if not line:
            return None
        header = json.loads(line)
        data = header.get("data", {})
        data.update(json.loads(self.file.read(header.get("data_length", 0)) or b"{}"))
        assert header.get("payload_length", 0) == 0
        return header["type"], data

    def receive_until(self, kind: str) -> List[Event]:
        """The events up to the first of this kind, which is the last of them."""
        events: List[Event] = []
        while not events or events[-1][0] != kind:
            event = self.receive()
            assert event is not None, f"closed after {events}"
            events.append(event)
        return events

    def start(self, rate: int = 16000, width: int = 2, channels: int = 1, **options: Any) -> None:
        self.send("transcribe", **options)
        self.format = {"rate": rate, "width": width, "channels": channels}
        self.send("audio-start", **self.format, timestamp=None)

    def chunk(self, samples: bytes) -> None:
        self.send("audio-chunk", samples, **self.format, timestamp=0)

    def stop(self) -> str:
        """Ends the utterance; returns its transcript, after a look at the pieces."""
        self.send("audio-stop", timestamp=0)
        return text_of(self.receive_until("transcript-stop"))


def text_of(events: List[Event]) -> str:
    """The transcript in the events of an utterance, which its pieces joined must be."""
    kinds = [kind for kind, _ in events]
    assert kinds[0] == "transcript-start" and kinds[-2:] == ["transcript", "transcript-stop"], kinds
    assert set(kinds[1:-2]) <= {"transcript-chunk"}, kinds
    text = events[-2][1]["text"]
    assert "".join(data["text"] for _, data in events[1:-2]) == text
    return text
