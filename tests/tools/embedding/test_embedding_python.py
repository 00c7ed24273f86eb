"""The Python program of docs/embedding.md gives decode_wav's texts."""

import os
import pathlib
import subprocess
import sys
from typing import Dict

import pytest

from embedding_recordings import MODEL, write_recordings
from tool_runner import ROOT, SUCCESS, succeed, write_audio

FAILURE = 1  # of sys.exit and exceptions; a crash has another status

LIBRARY = os.environ.get("RUNNEL_LIBRARY", ROOT / "build" / "runtime" / "librunnel.so")


@pytest.fixture(name="recordings", scope="module")
def fixture_recordings(tmp_path_factory) -> Dict[pathlib.Path, str]:
    return write_recordings(tmp_path_factory.mktemp("recordings"))


def live_py(*arguments) -> subprocess.CompletedProcess:
    """Runs the Python program."""
    program = ROOT / "tests" / "embedding" / "live.py"
    return subprocess.run([sys.executable, program, LIBRARY, *arguments], capture_output=True,
                          text=True, encoding="utf-8", check=False)


def test_python_program(recordings):
    for path, text in recordings.items():
        done = live_py(MODEL, path)
        assert done.returncode == SUCCESS, done.stderr
        *partials, final = done.stdout.splitlines()
        assert final == text
        assert all(line.startswith("partial: ") for line in partials)


def test_packed_model_without_options(recordings, tmp_path):
    """The precision is that of the file."""
    packed = tmp_path / "digits.int8"
    succeed("pack_model", f"--model={MODEL}", "--precision=int8", f"--output={packed}")
    path = next(iter(recordings))
    text = succeed("decode_wav", f"--model={packed}", f"--wav={path}").split(" ", 1)[1]
    done = live_py(packed, path)
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout.splitlines()[-1] == text.rstrip("\n")


def test_python_program_beyond_what_a_stream_buffers(tmp_path):
    write_audio(tmp_path / "minute.wav", seconds=60)
    done = live_py(MODEL, tmp_path / "minute.wav")
    assert done.returncode == SUCCESS, done.stderr


def test_python_program_says_what_is_wrong(tmp_path, recordings):
    done = live_py("no_such_model.pt", next(iter(recordings)))
    assert done.returncode == FAILURE and "no_such_model.pt" in done.stderr
    write_audio(tmp_path / "stereo.wav", channels=2)
    done = live_py(MODEL, tmp_path / "stereo.wav")
    assert done.returncode == FAILURE and "one channel" in done.stderr
