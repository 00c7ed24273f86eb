"""The shared libraries that a program or librunnel loads when it starts: none is LibTorch's."""

import os
import pathlib
import subprocess
from typing import List

import pytest

from tool_runner import BIN, ROOT, without_sanitizers

BUILD = BIN.parent
PROGRAMS = sorted(path.stem for path in (ROOT / "tools").glob("*.cc")
                  if (BIN / path.stem).exists())
LIBTORCH = ("libtorch", "libc10", "libcaffe2", "libshm")


def loaded(path: pathlib.Path) -> List[str]:
    """The lines of ldd: 'name => path (address)', or 'name (address)' for the kernel's."""
    done = subprocess.run(["ldd", path], check=True, capture_output=True, text=True)
    assert "not found" not in done.stdout
    return [line.strip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("path", [BIN / program for program in PROGRAMS]
                         + sorted((BUILD / "runtime").glob("librunnel.so")),
                         ids=lambda path: path.name)
def test_none_is_of_libtorch(path):
    assert [line for line in loaded(path) if line.startswith(LIBTORCH)] == []


def test_librunnel_is_built():
    assert (BUILD / "runtime" / "librunnel.so").exists() and len(PROGRAMS) >= 10


def test_the_server_loads_grpc_when_it_is_asked_for_it():
    if not sorted((BUILD / "lib").glob("librunnel_grpc-*")):
        pytest.skip("built without gRPC")
    grpc = ("libgrpc", "libgpr", "libprotobuf", "libabsl", "libupb")
    assert [line for line in loaded(BIN / "stream_server") if line.startswith(grpc)] == []


@without_sanitizers
def test_decode_wav_loads_little():
    """As `ldd build/bin/decode_wav | wc -l` counts them, with Debian's libraries; their files."""
    lines = loaded(BIN / "decode_wav")
    files = [line.split(" => ")[-1].split(" (")[0] for line in lines if "/" in line]
    assert len(lines) <= 23, lines
    assert sum(os.path.getsize(os.path.realpath(file)) for file in files) <= 15e6, files
