"""Runs the programs of a soak: to their end, or beside it."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request
from typing import Any, Dict, Iterator, List, Optional

Report = Dict[str, Any]

_START_TIMEOUT_S = 120
_URL = re.compile(r"\bws://\S+")


class SoakError(Exception):
    """A program did not do what it is for; the message is one line."""


def run_program(command: List[str], timeout_s: float = 3600) -> str:
    """Standard output of a program that ends by itself. Raises SoakError with its last line."""
    name = pathlib.Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False,
                              timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SoakError(f"{name}: {error}") from None
    if done.returncode != 0 and not done.stdout:
        lines = done.stderr.strip().splitlines() or [f"{name}: ended with {done.returncode}"]
        raise SoakError(lines[-1])
    return done.stdout


def run_load(bin_folder: pathlib.Path, flags: List[str]) -> Report:
    """load_client's report. Streams that went wrong are in it, not an error."""
    return json.loads(run_program([str(bin_folder / "load_client"), "--json", *flags]))


class Server:
    """A running stream_server, asked from outside."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url  # ws://host:port/
        self.address = re.sub(r"^ws://|/$", "", url)

    def metrics(self) -> Dict[str, float]:
        """What /metrics says, by name with labels."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as reply:
            lines = reply.read().decode("utf-8").splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}

    def cpu_s(self) -> float:
        """Seconds of CPU that the process has used."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextlib.contextmanager
def serve(bin_folder: pathlib.Path, model: pathlib.Path, flags: List[str], log: pathlib.Path,
          may_be_killed: bool = False) -> Iterator[Server]:
    """A server on a free port, until the block ends; it must then drain and end with 0."""
    command = [str(bin_folder / "stream_server"), f"--model={model}", "--port=0", *flags]
    with log.open("w", encoding="utf-8") as messages, \
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages,
                             encoding="utf-8") as process:
        try:
            assert process.stdout is not None
            yield Server(process, _announced_url(process.stdout, log))
            if may_be_killed and process.poll() == -signal.SIGKILL:
                return
            if process.poll() is not None:
                raise SoakError(f"stream_server ended with {process.returncode} ({log})")
            process.terminate()
            if process.wait(timeout=_START_TIMEOUT_S) != 0:
                raise SoakError(f"stream_server drained with {process.returncode} ({log})")
        finally:
            if process.poll() is None:
                process.kill()


def _announced_url(stdout: Any, log: pathlib.Path) -> str:
    """The address in what a starting server prints."""
    for line in stdout:
        found = _URL.search(line)
        if found:
            return found.group().rstrip(")")
    raise SoakError(f"stream_server did not start ({log})")


class Sampler:
    """Looks at a server now and then, from a thread of its own, while something else runs."""

    def __init__(self, server: Server, interval_s: float) -> None:
        self.samples: List[Dict[str, float]] = []  # time_s since the start, and the metrics
        self._server = server
        self._interval_s = interval_s
        self._done = threading.Event()
        self._error: Optional[Exception] = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        if self._error is not None:
            raise SoakError(f"/metrics could not be read: {self._error}")

    def _run(self) -> None:
        start = time.monotonic()
        try:
            while not self._done.wait(self._interval_s):
                self.samples.append({"time_s": time.monotonic() - start, **self._server.metrics()})
        except (OSError, ValueError) as error:
            self._error = error
