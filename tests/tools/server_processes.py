"""Servers, Redis and HAProxy as processes of a test, gone when it ends."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Optional, Tuple

from tool_runner import BIN, DIGITS, ROOT

GUARD_SECONDS = 180  # against hanging; nothing waits that long when all is well
POLL_SECONDS = 0.02


def free_port() -> int:
    """A port of the loopback interface on which nothing listens at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """Asks until `condition` gives something; returns that."""
    deadline = time.monotonic() + GUARD_SECONDS
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"waited too long until {what}"
        time.sleep(POLL_SECONDS)


def get(url: str) -> Tuple[int, str]:
    """Status and body of an HTTP GET; status 0 when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=GUARD_SECONDS) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def open_stream(address: str, more_header: str = "") -> socket.socket:
    """A WebSocket's first step; the reply is still to be read."""
    connection = socket.create_connection(address.split(":"), timeout=GUARD_SECONDS)
    connection.sendall(f"GET / HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                       f"{more_header}\r\n".encode())
    return connection


def reply_of(connection: socket.socket) -> str:
    """Everything up to the end of the header, or of the reply when the connection ends."""
    reply = b""
    while b"101 Switching" not in reply or b"\r\n\r\n" not in reply:
        part = connection.recv(65536)
        if not part:
            break
        reply += part
    return reply.decode()


class Process:
    """A process with its standard output as text lines, and its standard error in a file."""

    def __init__(self, command, log: pathlib.Path, **options):
        self.log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE,
                                            stderr=stderr, text=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdout.close()

    def line_with(self, pattern: str) -> "re.Match[str]":
        """Reads standard output up to a line that matches."""
        for line in self.process.stdout:
            found = re.search(pattern, line)
            if found:
                return found
        raise AssertionError(f"ended before a line with {pattern}: {self.log.read_text()}")

    def kill(self):
        """As kill -9, and waits until it is gone."""
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self) -> int:
        """Waits for its end; returns the exit code."""
        return self.process.wait(timeout=GUARD_SECONDS)


class Server(Process):
    """stream_server with the digit model on a free port, listening when the constructor returns."""

    def __init__(self, folder: pathlib.Path, *flags: str, command_line: Optional[str] = None):
        line = command_line or f"build/bin/stream_server --model={DIGITS / 'digits.pt'} --port=0"
        words = [re.sub(r"^--port=\d+$", "--port=0", word).replace("build/bin", str(BIN))
                 for word in line.split()]
        log = pathlib.Path(tempfile.mkstemp(dir=folder, prefix="server", suffix=".log")[1])
        super().__init__([*words, *flags], log)
        self.port = int(self.line_with(r"listening on http://[^ ]*:(\d+) ").group(1))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ready(self) -> int:
        """Status of /readyz."""
        return get(f"http://{self.address}/readyz")[0]

    def metrics(self) -> Dict[str, float]:
        """The values of /metrics by series, name{labels}."""
        status, text = get(f"http://{self.address}/metrics")
        assert status == 200
        return {name: float(value) for name, value in
                re.findall(r"^([^#\s]\S*(?:{[^}]*})?) (\S+)$", text, re.MULTILINE)}

    def num_streams(self) -> int:
        return int(self.metrics()["runnel_streams"])


class Redis(Process):
    """redis-server in memory on a free port."""

    def __init__(self, folder: pathlib.Path):
        self.port = free_port()
        super().__init__(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
                          "--save", "", "--appendonly", "no"], folder / "redis.log")
        self.line_with("Ready to accept connections")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


class Proxy(Process):
    """HAProxy with the committed configuration before three servers."""

    def __init__(self, folder: pathlib.Path, *servers: Server):
        self.port, self.statistics_port = free_port(), free_port()
        # A socket's path is short.
        self.socket_folder = tempfile.mkdtemp(prefix="haproxy")
        self.socket = os.path.join(self.socket_folder, "socket")
        addresses = {f"RUNNEL_SERVER_{i + 1}": server.address for i, server in enumerate(servers)}
        super().__init__(["haproxy", "-f", str(ROOT / "tools" / "deploy" / "haproxy.cfg")],
                         folder / "haproxy.log",
                         env={**os.environ, **addresses, "RUNNEL_HAPROXY_SOCKET": self.socket,
                              "RUNNEL_LISTEN": f"127.0.0.1:{self.port}",
                              "RUNNEL_STATISTICS": f"127.0.0.1:{self.statistics_port}"})
        # Every server was asked once whether it is ready.
        wait_until(lambda: all("L7OK" in row["check_status"] for row in self.rows().values()),
                   "HAProxy has seen all servers")

    def __exit__(self, *details):
        super().__exit__(*details)
        shutil.rmtree(self.socket_folder)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, command: str) -> str:
        """What its runtime interface answers; "" before it is there."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(GUARD_SECONDS)
            try:
                connection.connect(self.socket)
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                return ""
            connection.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def rows(self) -> Dict[str, Dict[str, str]]:
        """The statistics by server; while HAProxy starts, a row that says nothing."""
        header, *lines = self.ask("show stat").strip().splitlines() or [""]
        names = header.lstrip("# ").split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines]
        servers = {row["svname"]: row for row in rows if row["pxname"] == "streams"
                   and row["svname"] != "BACKEND"}
        return servers or {"": {"check_status": ""}}
