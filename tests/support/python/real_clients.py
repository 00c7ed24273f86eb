"""Runs clients that others wrote against stream_server. tests/clients has a program for each, and
package.json names the packages of npm that they use."""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, List, Optional

import numpy as np
import pytest
import soundfile

from tool_runner import BIN, DIGITS, ROOT, succeed
from websocket_client import PATIENCE_S

PROGRAMS = ROOT / "tests" / "clients"
FOLDER = BIN.parent / "clients"
LIVEKIT_NODE = 20  # the oldest Node.js that LiveKit's packages run on


def npm_folder() -> pathlib.Path:
    """The folder with node_modules. The first call installs the packages, in the versions of
    package-lock.json: 313 MB in 12 s, of which LiveKit's are 270 MB, with native code. Skips the
    test where they cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node.js with npm is not installed")
    FOLDER.mkdir(exist_ok=True)
    wanted = (PROGRAMS / "package-lock.json").read_bytes()
    stamp = FOLDER / "installed.json"
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not stamp.exists() or stamp.read_bytes() != wanted:
            for name in "package.json", "package-lock.json":
                shutil.copyfile(PROGRAMS / name, FOLDER / name)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                                  cwd=FOLDER, text=True, capture_output=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"npm cannot install the packages: {done.stderr.strip()[-300:]}")
            stamp.write_bytes(wanted)
        if not (FOLDER / "programs").is_symlink():
            (FOLDER / "programs").symlink_to(PROGRAMS)
    return FOLDER


def skip_without_node(major: int) -> None:
    """Skips the test where Node.js is older."""
    npm_folder()
    version = subprocess.run(["node", "--version"], text=True, capture_output=True, check=True)
    if int(version.stdout.lstrip("v").split(".")[0]) < major:
        pytest.skip(f"Node.js is {version.stdout.strip()}, expected {major} or later")


def command_of(program: str) -> List[str]:
    """The command line of a program in tests/clients."""
    if program.endswith(".py"):
        return [sys.executable, str(PROGRAMS / program)]
    if program.startswith("livekit"):
        skip_without_node(LIVEKIT_NODE)
    # By their path through the link, programs find the packages in the folder above them.
    return ["node", "--preserve-symlinks", "--preserve-symlinks-main",
            str(npm_folder() / "programs" / program)]


def recognised_text(path: pathlib.Path) -> str:
    """What decode_wav recognises in a recording."""
    line = succeed("decode_wav", f"--model={DIGITS / 'digits.pt'}", f"--wav={path}")
    return line.strip().split(" ", 1)[1]


def twice_with_silence(wav: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
    """Writes a recording two times with silence after each: two utterances. Returns `path`."""
    samples, rate = soundfile.read(wav, dtype="int16")
    silence = np.zeros(2 * rate, "int16")
    soundfile.write(path, np.concatenate([samples, silence, samples, silence]), rate)
    return path


class Clients:
    """`count` connections of one kind, in a process of their own: a program of tests/clients, such
    as "deepgram_sdk.mjs". client_program.mjs and client_program.py say what programs do."""

    def __init__(self, program: str, count: int = 1, certificate: Optional[pathlib.Path] = None,
                 **options: Any):
        """Starts them. `certificate`: that of a server with TLS; `options`: url, wav, and what
        else the program knows."""
        self.program, self.count = program, count
        trusted = {} if certificate is None else dict.fromkeys(
            ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
            str(certificate))
        options = {name: str(value) if isinstance(value, pathlib.Path) else value
                   for name, value in options.items()}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [*command_of(program), json.dumps({"count": count, **options})], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env={**os.environ, **trusted, "NODE_NO_WARNINGS": "1"})
        self._guard = threading.Timer(PATIENCE_S, self._process.kill)
        self._guard.start()
        self._is_half_way = False

    def wait_until_half_way(self) -> None:
        """Returns when every connection has sent half of its audio and has got text."""
        line = self._process.stdout.readline()
        assert line == "half way\n", self._failure(line)
        self._is_half_way = True

    def vanish(self) -> None:
        """Ends the process without a goodbye to the server."""
        self._guard.cancel()
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()

    def outcomes(self) -> List[Dict[str, Any]]:
        """Lets them go on; returns their outcomes when all have ended."""
        try:
            if not self._is_half_way:
                self.wait_until_half_way()
            self._process.stdin.close()
            output = self._process.stdout.read()
            assert self._process.wait() == 0, self._failure(output)
            found = [json.loads(line) for line in output.splitlines()]
            assert len(found) == self.count, self._failure(output)
            return found
        finally:
            self.vanish()

    def outcome(self) -> Dict[str, Any]:
        """The same for one connection."""
        (found,) = self.outcomes()
        return found

    def _failure(self, output: str) -> str:
        self._errors.seek(0)
        return f"{self.program} printed {output!r} and {self._errors.read()}"
