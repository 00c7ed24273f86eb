"""Runs a program to its end."""

import pathlib
import subprocess
from typing import Any, List, Optional


class ProgramError(Exception):
    """A program is missing or failed; the message is one line."""


def run_program(command: List[str], accept_failure_with_output: bool = False,
                timeout_s: Optional[float] = 3600, with_messages: bool = False,
                **options: Any) -> str:
    """Runs `command` to its end and returns its standard output.

    Args:
        accept_failure_with_output: a program that wrote to standard output has not failed, whatever
            its exit code.
        timeout_s: None: no limit.
        with_messages: standard error follows the output.
        options: of subprocess.run.

    Raises:
        ProgramError: with the last line of the program's standard error.
    """
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
    return done.stdout + done.stderr if with_messages else done.stdout
