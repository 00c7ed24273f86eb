"""Runs the tools as a user does, for the tests beside this file."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from typing import Any, List, Tuple

import numpy as np
import pytest
import soundfile

from fork_server import take_over

take_over()

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("RUNNEL_BIN_DIR", ROOT / "build" / "bin"))
TINY_MODEL = ROOT / "tests" / "golden" / "encoder" / "tiny.pt"
DIGITS = ROOT / "models" / "digits"
SAMPLES = DIGITS / "samples"
SAMPLE_LIST = SAMPLES / "wav.scp"  # its paths are relative to ROOT

SUCCESS, FAILURE, USAGE = 0, 1, 2

# For tests of texts and figures: sanitizers find nothing in them that other tests would not show,
# and make them slow.
without_sanitizers = pytest.mark.skipif("RUNNEL_SANITIZE" in os.environ,
                                        reason="of no use under sanitizers")


def temporary_folder(prefix: str) -> pathlib.Path:
    """A new folder that is removed when the tests end."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def command(tool: str, *arguments: Any) -> List[str]:
    """The command line of a tool."""
    return [str(BIN / tool), *map(str, arguments)]


def run(tool: str, *arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    """Runs a tool in the repository's root to its end; stdout and stderr as text."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(command(tool, *arguments), cwd=ROOT, text=True, encoding="utf-8",
                          stderr=subprocess.PIPE, check=False, **options)


def run_without_reader(tool: str, *arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    """As `run`, with a standard output that is a pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run(tool, *arguments, stdout=writer, **options)
    finally:
        os.close(writer)


def succeed(tool: str, *arguments: Any, **options: Any) -> str:
    """Runs a tool that must succeed; returns its standard output."""
    done = run(tool, *arguments, **options)
    assert done.returncode == SUCCESS, done.stderr
    return done.stdout


def error_line(done: subprocess.CompletedProcess, code: int) -> str:
    """The one line in which a tool said why it ended with `code`; nothing on standard output."""
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    assert not done.stdout
    lines = done.stderr.splitlines()
    assert lines, "no error message"
    name = pathlib.Path(done.args[0]).name
    assert lines[-1].startswith(name + ": ")
    # What comes before can only be the line that names the model.
    assert len(lines) == 1 or (len(lines) == 2 and lines[0].startswith(name + ": model ")), lines
    return lines[-1]


def error_file_line(done: subprocess.CompletedProcess, name: str) -> str:
    """The one line of decode_wav about the file `name`, because of which it failed."""
    assert done.returncode == FAILURE
    lines = [line for line in done.stderr.splitlines() if name in line]
    assert len(lines) == 1 and lines[0].startswith("decode_wav: "), done.stderr
    return lines[0]


def peak_kilobytes(tool: str, *arguments: Any) -> int:
    """The most memory that a tool, which must succeed, had resident at a time."""
    # A child inherits the peak memory of its parent, so a small process starts it.
    measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
               "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", measure, *command(tool, *arguments)], check=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout)


def model_text(model: pathlib.Path, name: str) -> str:
    """The content of runnel.json or units.txt in a model file."""
    with zipfile.ZipFile(model) as archive:
        entry, = (entry for entry in archive.namelist() if entry.endswith(f"/extra/{name}"))
        return archive.read(entry).decode("utf-8")


def write_audio(path: pathlib.Path, seconds: float = 2.0, seed: int = 1, rate: int = 16000,
                channels: int = 1) -> np.ndarray:
    """Writes seeded noise of changing level as 16-bit audio; returns it, (samples, channels)."""
    random = np.random.default_rng(seed)
    shape = (int(seconds * rate), channels)
    level = 0.05 + 0.2 * np.abs(np.sin(np.arange(shape[0]) * 2 * np.pi * 1.5 / rate))[:, None]
    samples = (level * random.standard_normal(shape)).clip(-1, 1)
    soundfile.write(path, samples, rate, subtype="PCM_16")
    return samples


def write_list(folder: pathlib.Path, count: int) -> Tuple[pathlib.Path, List[str]]:
    """Writes `count` recordings of different lengths and a list of them; returns list and ids."""
    lines, ids = [], []
    for i in range(count):
        path = folder / f"recording{i}.wav"
        write_audio(path, seconds=0.3 + 0.7 * ((i * 5) % 7), seed=i)
        ids.append(f"id{i}")
        lines.append(f"id{i} {path}\n")
    listing = folder / "wav.scp"
    listing.write_text("".join(lines), encoding="utf-8")
    return listing, ids
