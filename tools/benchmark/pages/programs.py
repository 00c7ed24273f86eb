"""Runs a program to its end."""

import pathlib
import re
import subprocess
from typing import Any, List, Optional, Tuple


class ProgramError(Exception):
    """A program is missing or failed; the message is one line."""


def _run(command: List[str], accept_failure_with_output: bool = False,
         timeout_s: Optional[float] = None, **options: Any) -> "subprocess.CompletedProcess[str]":
    name = pathlib.Path(command[0]).name
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False,
                              timeout=timeout_s, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{name}: {error}") from None
    if done.returncode != 0 and not (accept_failure_with_output and done.stdout):
        lines = done.stderr.strip().splitlines()
        raise ProgramError(lines[-1] if lines else
                           f"{name} ended with status {done.returncode}, no message")
    return done


def run_program(command: List[str], **options: Any) -> str:
    """Runs `command` to its end and returns its standard output.

    Args:
        options: accept_failure_with_output: a program that wrote to standard output has not failed,
            whatever its exit code. timeout_s: default none. Others are of subprocess.run.

    Raises:
        ProgramError: with the last line of the program's standard error.
    """
    return _run(command, **options).stdout


def run_decoder(command: List[str]) -> Tuple[str, float, float]:
    """Runs decode_wav: its output, seconds of audio, and seconds that they took. Raises as
    run_program."""
    done = _run(command)
    times = re.search(r"audio ([\d.]+) s, wall ([\d.]+) s", done.stderr)
    if times is None:
        raise ProgramError("decode_wav printed no times")
    return done.stdout, float(times[1]), max(float(times[2]), 0.01)  # 0.01 s is what it resolves
