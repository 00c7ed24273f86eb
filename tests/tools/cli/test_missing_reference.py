"""Programs that do not find librunnel_reference: one line says what is missing; the rest works."""

import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import pytest

from tool_runner import BIN, DIGITS, FAILURE, ROOT, SAMPLES, SUCCESS, succeed

MODEL = f"--model={DIGITS / 'digits.pt'}"
WAV = f"--wav={SAMPLES / 'ked_year.flac'}"
BACKEND = "the LibTorch backend (float64 has no other)"


def run_without(folder: pathlib.Path, tool: str, *arguments: Any) -> subprocess.CompletedProcess:
    """Runs a copy of a program of which the run path leads nowhere."""
    program = folder / tool
    shutil.copy(BIN / tool, program)
    dynamic = subprocess.run(["readelf", "--dynamic", program], check=True, capture_output=True)
    for path in re.findall(rb"Library r(?:un)?path: \[(.+)\]", dynamic.stdout):
        program.write_bytes(program.read_bytes().replace(path + b"\0", b"/" * len(path) + b"\0"))
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return subprocess.run([program, *map(str, arguments)], cwd=ROOT, env=environment, text=True,
                          encoding="utf-8", capture_output=True, check=False)


@pytest.mark.parametrize("tool, user, flags", [
    ("decode_wav", BACKEND, [WAV, "--backend=libtorch"]),
    ("decode_wav", BACKEND, [WAV, "--precision=float64"]),
    ("dump_encoder", BACKEND, [WAV, "--output=/dev/null", "--precision=float64"]),
    ("verify_streaming", "the verification", ["--seconds=1"]),
    ("verify_streaming", "the verification", ["--seconds=1", "--precision=int8"]),
    ("bench_encoder", "the TorchScript baseline",
     ["--seconds=0.01", "--streams=1", "--baseline"])])
def test_what_needs_it_says_so(tmp_path, tool, user, flags):
    done = run_without(tmp_path, tool, MODEL, *flags)
    assert done.returncode == FAILURE
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]  # after the one that names the model, if any
    version = re.search(r'RUNNEL_VERSION "(.*)"', (ROOT / "runtime" / "version.h").read_text())[1]
    library = f"librunnel_reference-{version}.so"
    assert line == (
        f"{tool}: {user} needs the reference, which cannot be loaded ({library}: cannot open "
        "shared object file: No such file or directory); expected the Debian package "
        "runnel-reference, or a build with RUNNEL_LIBTORCH=ON where LibTorch is installed")


@pytest.mark.parametrize("flags", [[], ["--precision=bfloat16"], ["--precision=int8"]])
def test_what_does_not_need_it_works(tmp_path, flags):
    done = run_without(tmp_path, "decode_wav", MODEL, WAV, *flags)
    assert done.returncode == SUCCESS, done.stderr
    assert done.stdout == succeed("decode_wav", MODEL, WAV, *flags)
