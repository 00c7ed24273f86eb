"""compare_speed.py finds the row that is slower, and none where times are equal."""

import pathlib
import subprocess
import sys
from typing import Dict

from tool_runner import FAILURE, SUCCESS, USAGE, without_sanitizers

pytestmark = without_sanitizers

PROGRAM = pathlib.Path(__file__).with_name("compare_speed.py")


def build(folder: pathlib.Path, times_ms: Dict[int, float]) -> pathlib.Path:
    """A build whose bench_encoder takes these times by the number of streams."""
    folder.mkdir()
    (folder / "decode_wav").touch()
    rows = "\n".join(["streams,median_ms,min_ms",
                      *(f"{streams},99,{time}" for streams, time in times_ms.items())])
    program = folder / "bench_encoder"
    program.write_text(f'#!/bin/sh\ncat >"${{2#--csv=}}" <<END\n{rows}\nEND\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def compare(before: pathlib.Path, after: pathlib.Path, *flags: str
            ) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(PROGRAM), f"--before={before}", f"--after={after}",
                           "--model=some/model.pt", "--rounds=2", *flags],
                          capture_output=True, encoding="utf-8", check=False)


def test_a_slower_row_fails(tmp_path: pathlib.Path) -> None:
    before = build(tmp_path / "before", {1: 10.0, 16: 8.0})
    after = build(tmp_path / "after", {1: 10.1, 16: 8.4})
    done = compare(before, after)
    assert (done.returncode, done.stderr) == (FAILURE, "")
    assert done.stdout.splitlines()[2:] == ["| model.pt | 1 | 10.000 | 10.100 | 1.010 |",
                                            "| model.pt | 16 | 8.000 | 8.400 | 1.050 |"]
    assert compare(before, after, "--tolerance=0.06").returncode == SUCCESS
    assert compare(after, before).returncode == SUCCESS


def test_refusals(tmp_path: pathlib.Path) -> None:
    before = build(tmp_path / "before", {1: 10.0})
    done = compare(before, tmp_path)
    assert done.returncode == USAGE
    assert "no decode_wav, expected the folder of a build" in done.stderr
    fewer = build(tmp_path / "fewer", {2: 10.0})
    done = compare(before, fewer)
    assert done.returncode == FAILURE
    assert done.stderr == "model.pt: the builds have other rows: streams 1 against 2\n"
