"""The C and C++ programs of docs/embedding.md give decode_wav's texts; librunnel's symbols."""

import os
import pathlib
import re
import subprocess
from typing import Dict

import pytest
import soundfile

from embedding_recordings import MODEL, write_recordings
from tool_runner import FAILURE, ROOT, SUCCESS, USAGE, command

LIBRARY = pathlib.Path(os.environ.get("RUNNEL_LIBRARY", ROOT / "build/runtime/librunnel.so"))


@pytest.fixture(name="recordings", scope="module")
def fixture_recordings(tmp_path_factory) -> Dict[pathlib.Path, str]:
    return write_recordings(tmp_path_factory.mktemp("recordings"))


def pcm(path: pathlib.Path) -> bytes:
    """The samples of a file as 16-bit PCM."""
    return soundfile.read(path, dtype="int16")[0].tobytes()


def live_c(samples: bytes, *arguments: str) -> subprocess.CompletedProcess:
    """Runs the C program with PCM on standard input."""
    return subprocess.run(command("live_c", *arguments), input=samples, capture_output=True,
                          check=False)


def test_c_program(recordings):
    for path, text in recordings.items():
        done = live_c(pcm(path), MODEL, str(soundfile.info(path).samplerate))
        assert done.returncode == SUCCESS, done.stderr
        *partials, final = done.stdout.decode().splitlines()
        assert final == text
        assert all(line.startswith("partial: ") for line in partials)


def test_c_program_beyond_what_a_stream_buffers(recordings):
    path = next(path for path in recordings if path.stem == "rms_phone_number")
    minute = pcm(path) * 20  # back-pressure starts at 30 s
    final = live_c(minute, MODEL, "16000").stdout.decode().splitlines()[-1]
    assert len(final.split()) >= 20 * 6


def test_c_program_says_what_is_wrong():
    done = live_c(b"")
    assert (done.returncode, done.stderr[:6]) == (USAGE, b"usage:")
    done = live_c(b"", "no_such_model.pt", "16000")
    assert done.returncode == FAILURE and b"no_such_model.pt" in done.stderr
    for rate in "16k", "", "4294983296":
        done = live_c(b"", MODEL, rate)
        assert (done.returncode, done.stderr.decode()) == (
            USAGE, f"live: SAMPLE_RATE is '{rate}', expected a number of Hz\n")
    done = live_c(b"", MODEL, "-5")
    assert done.returncode == FAILURE and b"-5" in done.stderr


def test_cpp_program(recordings):
    done = subprocess.run(command("live_cc", MODEL, *recordings), capture_output=True, text=True,
                          encoding="utf-8", check=False)
    assert done.returncode == SUCCESS, done.stderr
    finals = [line for line in done.stdout.splitlines() if " partial: " not in line]
    assert sorted(finals) == sorted(f"{path} {text}" for path, text in recordings.items())
    assert "batches" in done.stderr


def test_cpp_program_says_what_is_wrong(recordings):
    done = subprocess.run(command("live_cc", MODEL, *recordings, "no_such_file.wav"),
                          capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == FAILURE and "no_such_file.wav" in done.stderr


def test_library_exports_the_functions_of_the_header_and_nothing_else():
    symbols = subprocess.run(["nm", "--dynamic", "--defined-only", LIBRARY], check=True,
                             capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    header = (ROOT / "runtime" / "c_api.h").read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(runnel_\w+)\(", code))
    assert exported == declared


def test_library_has_a_versioned_name():
    dynamic = subprocess.run(["objdump", "-p", LIBRARY], check=True, capture_output=True,
                             text=True).stdout
    assert re.search(r"SONAME\s+librunnel\.so\.0$", dynamic, flags=re.MULTILINE)
