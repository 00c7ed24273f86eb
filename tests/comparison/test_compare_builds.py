"""compare_builds.py finds a byte that differs, and nothing where nothing differs."""

import pathlib
import subprocess
import sys

import pytest

from tool_runner import BIN, FAILURE, SUCCESS, USAGE, without_sanitizers

pytestmark = without_sanitizers

PROGRAM = pathlib.Path(__file__).with_name("compare_builds.py")
ONLY = r"^decode_wav --model=\$DIGITS \$SAMPLES --partial --format=(text|json)|" \
       r"^compile_lm --arpa=\$TOKENS|^decode_wav --version"
PARTIAL = "decode_wav --model=$DIGITS $SAMPLES --partial --format"


def compare(after: pathlib.Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(PROGRAM), f"--before={BIN}", f"--after={after}",
                           *flags], capture_output=True, encoding="utf-8", check=False)


@pytest.fixture(name="changed")
def fixture_changed(tmp_path: pathlib.Path) -> pathlib.Path:
    """The programs of the build, of which decode_wav gives another time in JSON."""
    for program in BIN.iterdir():
        (tmp_path / program.name).symlink_to(program)
    wrapper = tmp_path / "decode_wav"
    wrapper.unlink()
    wrapper.write_text(f"#!/bin/sh\n{BIN / 'decode_wav'} \"$@\" | "
                       "sed 's/\"start_ms\":280.0,/\"start_ms\":281.0,/'\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return tmp_path


def test_a_build_equals_itself():
    done = compare(BIN, f"--only={ONLY}")
    assert (done.returncode, done.stderr) == (SUCCESS, "")
    *cases, summary = done.stdout.splitlines()
    assert summary == "4 cases: 4 equal, 0 differs, 0 help differs, 0 skipped"
    assert cases[0] == f"equal: {PARTIAL}=text --num_threads=1"


def test_one_byte_is_found(changed):
    done = compare(changed, f"--only={ONLY}")
    assert (done.returncode, done.stderr) == (FAILURE, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "4 cases: 3 equal, 1 differs, 0 help differs, 0 skipped"
    at = lines.index(f"differs: {PARTIAL}=json --num_threads=1")
    assert lines[at + 1].startswith("  command 1, standard output, line 1, from column ")
    assert '"start_ms":280.0' in lines[at + 2] and '"start_ms":281.0' in lines[at + 3]


def test_wrong_command_lines(tmp_path):
    done = compare(tmp_path)
    assert done.returncode == USAGE and "no decode_wav, expected the folder" in done.stderr
    done = compare(BIN, "--only=none_of_the_cases")
    assert done.returncode == USAGE and "no case matches --only" in done.stdout
