"""Runs load_client, and a stream_server beside it."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.request
from typing import Any, Dict, Iterator, List, Optional, Tuple

from tools.benchmark.pages.programs import ProgramError, run_program

Report = Dict[str, Any]

_START_TIMEOUT_S = 120
_URL = re.compile(r"\bws://\S+")


def run_load(bin_folder: pathlib.Path, server_url: str, wav_scp: pathlib.Path,
             expected: Optional[pathlib.Path], *flags: str,
             timeout_s: Optional[float] = None) -> Report:
    """The report of load_client, which also counts the streams that failed."""
    compared = [] if expected is None else [f"--expected={expected}"]
    report: Report = json.loads(run_program(
        [str(bin_folder / "load_client"), "--json", f"--server={server_url}",
         f"--wav_scp={wav_scp}", *compared, *flags],
        accept_failure_with_output=True, timeout_s=timeout_s))
    return report


class Server:
    """A running stream_server, observed from outside."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url  # ws://host:port/
        self.address = re.sub(r"^ws://|/$", "", url)

    def next_port(self) -> int:
        """The next port that the server announces after that of its URL."""
        assert self.process.stdout is not None
        return int(next(self.process.stdout).split(" (")[0].rsplit(":", 1)[1])

    def metrics(self) -> Dict[str, float]:
        """The values of /metrics, by name with labels."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as reply:
            lines = reply.read().decode("utf-8").splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}

    def memory(self) -> Tuple[float, float]:
        """Resident memory of the process now and at most, in bytes; 0 when it has ended."""
        with contextlib.suppress(OSError, AttributeError):
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
            now, peak = (re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
                         for name in ("VmRSS", "VmHWM"))
            return 1024.0 * int(now[1]), 1024.0 * int(peak[1])  # type: ignore[index]
        return 0.0, 0.0

    def cpu_s(self) -> float:
        """CPU seconds that the process has used."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextlib.contextmanager
def serve(bin_folder: pathlib.Path, model: pathlib.Path, flags: List[str], log: pathlib.Path,
          may_be_killed: bool = False) -> Iterator[Server]:
    """Runs a server on a free port until the block ends, when it must drain and end with 0."""
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
                raise ProgramError(f"stream_server ended with {process.returncode} ({log})")
            process.terminate()
            if process.wait(timeout=_START_TIMEOUT_S) != 0:
                raise ProgramError(f"stream_server drained with {process.returncode} ({log})")
        finally:
            if process.poll() is None:
                process.kill()


def _announced_url(stdout: Any, log: pathlib.Path) -> str:
    """The address that a starting server prints."""
    for line in stdout:
        found = _URL.search(line)
        if found:
            return found.group().rstrip(")")
    raise ProgramError(f"stream_server did not start ({log})")


class Sampler:
    """Reads the metrics of a server at intervals, in a thread of its own."""

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
            raise ProgramError(f"/metrics could not be read: {self._error}")

    def _run(self) -> None:
        start = time.monotonic()
        try:
            while not self._done.wait(self._interval_s):
                self.samples.append({"time_s": time.monotonic() - start, **self._server.metrics()})
        except (OSError, ValueError) as error:
            self._error = error
