"""Runs programs for Windows under wine. If wine or a program stalls, a test fails."""

import os
import signal
import subprocess
import tempfile
import threading
from typing import Any, List, Optional

import pytest

from tool_runner import ROOT, SUCCESS

FOLDER = ROOT / "build" / "windows" / "bin"
_RUN = ROOT / "tools" / "cross" / "windows_run.sh"
_PATIENCE_S = 200  # much longer than any program takes, also on a busy machine


class WindowsProgram:
    """A running program. Its output goes to files: services of wine, which the first program
    starts, keep its standard error open as long as they run, so a pipe would have no end."""

    _stalled: Optional[str] = None  # what stalled first; later programs would, too

    def __init__(self, words: List[Any], **options: Any) -> None:
        if WindowsProgram._stalled is not None:
            pytest.fail(f"not run: {WindowsProgram._stalled}", pytrace=False)
        self._words = [str(word) for word in words]
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        options = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stderr": self._errors, **options}
        # A group of its own, so that nothing of it is left.
        self.process = subprocess.Popen([_RUN, *self._words], stdout=self._output,
                                        start_new_session=True, **options)
        self._watchdog = threading.Timer(_PATIENCE_S, self._stall)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _stall(self) -> None:
        command = " ".join(self._words)
        WindowsProgram._stalled = f"{command} did not end under wine in {_PATIENCE_S} s"
        self.kill()
        subprocess.run([_RUN, "--end"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    def kill(self) -> None:
        """Ends it at once."""
        self._watchdog.cancel()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def never_stalls(self) -> None:
        """For a program that waits until the tests are over."""
        self._watchdog.cancel()

    def feed(self, given: bytes) -> None:
        """Writes to its standard input, unless it has ended; `end` tells why."""
        try:
            self.process.stdin.write(given)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def end(self, given: Optional[bytes] = None) -> subprocess.CompletedProcess:
        """Waits for its end. `given`: for its standard input, which is then closed."""
        self.process.communicate(given)
        self._watchdog.cancel()
        if WindowsProgram._stalled is not None:
            pytest.fail(WindowsProgram._stalled, pytrace=False)
        texts = []
        for file in self._output, self._errors:
            file.seek(0)
            texts.append(file.read().decode("utf-8"))
            file.close()
        return subprocess.CompletedProcess(self._words, self.process.returncode, *texts)


@pytest.fixture(scope="module")
def wine():
    """Starts wine, makes its settings if there are none, and keeps its services running."""
    waiting = WindowsProgram(["cmd.exe"], stdin=subprocess.PIPE)
    waiting.never_stalls()
    try:
        done = WindowsProgram(["cmd.exe", "/c", "exit"]).end()
        assert done.returncode == SUCCESS, "wine does not start"
        yield
        waiting.process.stdin.close()
        waiting.process.wait(_PATIENCE_S)
    finally:
        waiting.kill()


def start_windows(tool: str, *arguments: Any, **options: Any) -> WindowsProgram:
    """Starts a program of the build for Windows; `options` are those of Popen."""
    return WindowsProgram([FOLDER / f"{tool}.exe", *arguments], **options)


def run_windows(tool: str, *arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    """Runs it to its end; its output as UTF-8."""
    return start_windows(tool, *arguments, **options).end()


def succeed_windows(tool: str, *arguments: Any, **options: Any) -> str:
    """Runs a program that must succeed; returns its standard output."""
    done = run_windows(tool, *arguments, **options)
    assert done.returncode == SUCCESS, done.stderr
    return done.stdout
