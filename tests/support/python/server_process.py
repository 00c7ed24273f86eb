"""Runs stream_server for tests, and speaks to it as clients do; on top of websocket_client."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np
import soundfile

from tool_runner import DIGITS, ROOT, SAMPLES, command
from websocket_client import PATIENCE_S, Answer, Refused, WebSocket, request

TEXTS = dict(line.split(" ", 1) for line in
             (SAMPLES / "text").read_text(encoding="utf-8").splitlines())
FILES = {name: next(SAMPLES.glob(name + ".*")) for name in TEXTS}
LONGEST = "rms_phone_number"


def samples_of(name: str) -> Tuple[np.ndarray, int]:
    """A sample recording, mono float32, and its rate."""
    samples, rate = soundfile.read(FILES[name], dtype="float32", always_2d=True)
    return samples.mean(axis=1), rate


def pcm16(samples: np.ndarray) -> bytes:
    return (samples * 32768).round().clip(-32768, 32767).astype("<i2").tobytes()


def cut(payload: bytes, sizes: Iterable[int]) -> List[bytes]:
    """The payload in pieces of the sizes, which are gone through again and again."""
    sizes, pieces, begin = list(sizes), [], 0
    while begin < len(payload):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(payload[begin:begin + size])
        begin += size
    return pieces


def make_certificate(folder: pathlib.Path) -> Tuple[pathlib.Path, pathlib.Path]:
    """A certificate of this machine, signed by itself, and its key, in PEM."""
    paths = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


# Flags of a server that is so slow that a long recording does not end by itself: it computes a
# third of a million chunks.
SLOW = ("--chunk_size=1", "--max_recording_s=20000")
LONG_S = 4 * 3600


def long_recording(folder: pathlib.Path) -> bytes:
    """Four hours that begin with speech, as a small file."""
    samples, rate = soundfile.read(FILES[LONGEST], dtype="int16", always_2d=True)
    minute = np.zeros(60 * rate, np.int16)
    path = folder / "long.flac"
    with soundfile.SoundFile(path, "w", rate, 1) as file:
        file.write(samples[:, 0])
        for _ in range(LONG_S // 60 - 1):
            file.write(minute)
    return path.read_bytes()


# For a server whose memory is measured: the address sanitizer would keep 256 MB of what is freed,
# to see who still uses it.
SMALL_QUARANTINE = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}

REJECTIONS = 'runnel_rejections_total{{reason="{}"}}'


class Server:
    """stream_server as a process, without snapshots unless a flag asks; its context ends it."""

    def __init__(self, *flags: str, model: pathlib.Path = DIGITS / "digits.pt",
                 environment: Optional[Dict[str, str]] = None, max_files: Optional[int] = None):
        self.process = subprocess.Popen(
            command("stream_server", f"--model={model}", "--port=0", "--snapshot_store=none",
                    *flags),
            cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            preexec_fn=max_files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                 (max_files, max_files))))
        self.log: List[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        line = self.process.stdout.readline()
        found = re.fullmatch(r"stream_server: listening on (https?://127\.0\.0\.1:(\d+)) "
                             r"\(wss?://127\.0\.0\.1:\d+\)\n", line)
        if found is None:
            self.process.wait(PATIENCE_S)
            self._reader.join()
            raise AssertionError(f"stream_server said {line!r} and {''.join(self.log)}")
        self.url, self.port = found[1], int(found[2])
        if any(flag.startswith("--grpc_port") for flag in flags):
            line = self.process.stdout.readline()
            found = re.fullmatch(r"stream_server: listening on 127\.0\.0\.1:(\d+) \(gRPC\)\n",
                                 line)
            assert found is not None, line
            self.grpc_port = int(found[1])
        if any(flag.startswith("--wyoming_port") for flag in flags):
            line = self.process.stdout.readline()
            found = re.fullmatch(r"stream_server: listening on 127\.0\.0\.1:(\d+) \(Wyoming\)\n",
                                 line)
            assert found is not None, line
            self.wyoming_port = int(found[1])
        if any(flag.startswith("--admin_port") for flag in flags):
            line = self.process.stdout.readline()
            found = re.fullmatch(r"stream_server: listening on http://127\.0\.0\.1:(\d+) "
                                 r"\(health and metrics\)\n", line)
            assert found is not None, line
            self.admin_port = int(found[1])

    def _read_log(self) -> None:
        for line in self.process.stderr:
            self.log.append(line)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def get(self, target: str, **options: Any) -> Answer:
        return request(self.port, target, **options)

    def metrics(self, **options: Any) -> Dict[str, float]:
        """Every series by its name with labels, as it stands in the text. Options of `get`."""
        answer = self.get("/metrics", **options)
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain")
        lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def rejections(self, reason: str) -> float:
        return self.metrics()[REJECTIONS.format(reason)]

    def wait_for_rejections(self, reason: str, at_least: int) -> None:
        """A client may notice that its connection is closed before the server has counted it."""
        self.wait_for(lambda now: now[REJECTIONS.format(reason)] >= at_least)

    def expect_rejections(self, reason: str, count: int) -> None:
        self.wait_for_rejections(reason, count)
        assert self.rejections(reason) == count

    def wait_for(self, condition: Any) -> None:
        """Asks for the metrics until they satisfy the condition."""
        for _ in range(PATIENCE_S * 20):
            if condition(self.metrics()):
                return
            threading.Event().wait(0.05)
        raise AssertionError(f"never came: {self.metrics()}")

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def exit_code(self) -> int:
        """Waits for the end; `log` is whole then."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def open(self, target: str = "/v1/stream", **options: Any) -> WebSocket:
        return WebSocket(self.port, target, **options)


def start(socket: WebSocket, rate: Optional[int] = None, **options: Any) -> Dict[str, Any]:
    """Starts a stream of our own protocol; returns the "ready" message."""
    if rate is not None:
        options["sample_rate"] = rate
    socket.send_json(type="start", version=1, **options)
    return socket.receive_until("ready")


def speak(socket: WebSocket, name: str, sizes: Iterable[int] = (3200,), **options: Any) -> str:
    """A whole conversation in our own protocol; returns the final text."""
    samples, rate = samples_of(name)
    start(socket, rate, **options)
    is_float = options.get("encoding") == "float32"
    payload = samples.astype("<f4").tobytes() if is_float else pcm16(samples)
    for piece in cut(payload, sizes):
        socket.send_bytes(piece)
    socket.send_json(type="finish")
    return socket.receive_until("final")["text"]


def retry(attempt: Callable[[], Any], pause_s: float = 0.05) -> Any:
    """Tries until the server is no longer full; the first result that is not None."""
    for _ in range(int(PATIENCE_S / pause_s)):
        result = attempt()
        if result is not None:
            return result
        threading.Event().wait(pause_s)
    raise AssertionError("never")


def open_if_there_is_room(server: Server) -> Optional[WebSocket]:
    try:
        return server.open()
    except Refused as refused:
        assert refused.code == "full"
        return None


class Neighbour:
    """A stream that runs beside what a test does, and must end with the right text."""

    def __init__(self, server: Server, name: str = LONGEST):
        self.socket, self.name = server.open(), name
        self.samples, rate = samples_of(name)
        start(self.socket, rate)
        self.sent = 0

    def go_on(self, share: float = 0.1) -> None:
        """Sends so much more of the recording."""
        count = int(len(self.samples) * share)
        self.socket.send_bytes(pcm16(self.samples[self.sent:self.sent + count]))
        self.sent += count

    def finish(self) -> None:
        with self.socket:
            self.go_on(1.0)
            self.socket.send_json(type="finish")
            assert self.socket.receive_until("final")["text"] == TEXTS[self.name]
            assert self.socket.close_code() == 1000
