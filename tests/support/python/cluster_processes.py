"""What stands around servers: Redis and HAProxy as processes of a test, gone when it ends."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List

from server_process import Server
from tool_runner import ROOT

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
        threading.Event().wait(POLL_SECONDS)


def server_flags(command_line: str) -> List[str]:
    """The flags of a documented command, without the model and the port: server_process's."""
    return [word for word in command_line.split()[1:]
            if not word.startswith(("--model=", "--port="))]


class Redis:
    """redis-server in memory on a free port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if "Ready to accept connections" in line:
                return
        raise AssertionError("".join(said))

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


class Proxy:
    """HAProxy with the committed configuration before three servers."""

    def __init__(self, folder: pathlib.Path, *servers: Server):
        self.port, self.statistics_port = free_port(), free_port()
        self.socket_folder = tempfile.mkdtemp(prefix="haproxy")  # a socket's path must be short
        self.socket = os.path.join(self.socket_folder, "socket")
        self.log = folder / "haproxy.log"
        addresses = {f"RUNNEL_SERVER_{i + 1}": f"127.0.0.1:{server.port}"
                     for i, server in enumerate(servers)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["haproxy", "-f", str(ROOT / "tools" / "deploy" / "haproxy.cfg")],
                stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **addresses, "RUNNEL_HAPROXY_SOCKET": self.socket,
                     "RUNNEL_LISTEN": f"127.0.0.1:{self.port}",
                     "RUNNEL_STATISTICS": f"127.0.0.1:{self.statistics_port}"})
        # Every server was asked once whether it is ready.
        wait_until(lambda: all("L7OK" in row["check_status"] for row in self.rows().values()),
                   "HAProxy has seen all servers")

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.socket_folder)

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
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode().strip()

    def rows(self) -> Dict[str, Dict[str, str]]:
        """The statistics by server; while HAProxy starts, a row that says nothing."""
        header, *lines = self.ask("show stat").splitlines() or [""]
        names = header.lstrip("# ").split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines]
        servers = {row["svname"]: row for row in rows if row["pxname"] == "streams"
                   and row["svname"] != "BACKEND"}
        return servers or {"": {"check_status": ""}}

    def status(self, server: str) -> str:
        """UP, DOWN, DRAIN, ..., perhaps with how often it was asked."""
        return self.rows()[server]["status"]
