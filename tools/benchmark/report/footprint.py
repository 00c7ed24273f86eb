"""What a program costs before it decodes: shared libraries, start, memory, the first text."""

import pathlib
import re
import statistics
import sys
from typing import Any, Dict, List, Sequence, Tuple

from tools.benchmark.pages.programs import ProgramError, run_program
from tools.benchmark.report.bench import Bench, Page, Row, Section
from tools.benchmark.report.cells import number, table_of, text

_DIGITS = pathlib.Path("models/digits")
_RECORDING = _DIGITS / "samples/ked_year.flac"
_ROUNDS = 9
# Program: shared libraries at most, and their megabytes at most (None: no target).
_TARGETS: Dict[str, Tuple[int, Any]] = {
    "decode_wav": (14, 15), "stream_server": (30, None), "runnel": (14, 15)}
_VERSION_TARGET_S, _VERSION_TARGET_MB, _TEXT_TARGET_S = 0.03, 15, 0.1


def _libraries(program: str) -> List[pathlib.Path]:
    """The shared libraries that the loader maps for a program, resolved."""
    lines = run_program(["ldd", program]).splitlines()
    found = [re.search(r"(/\S+) \(0x", line) for line in lines]
    return [pathlib.Path(path[1]).resolve() for path in found if path]


# Linux counts in a process's peak what its parent held when it began: so a small parent starts it.
_STARTER = """import os, sys
silent = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def _cost(command: Sequence[str]) -> Tuple[float, float]:
    """CPU seconds and peak resident megabytes of a process."""
    status, seconds, kibibytes = run_program(
        [sys.executable, "-I", "-S", "-c", _STARTER, *command]).split()
    if status != "0":
        raise ProgramError(f"{' '.join(command)} ended with status {status}")
    return float(seconds), float(kibibytes) * 1024 / 1e6


def _median_cost(command: Sequence[str]) -> Tuple[float, float]:
    costs = [_cost(command) for _ in range(_ROUNDS)]
    return (statistics.median(seconds for seconds, _ in costs),
            statistics.median(megabytes for _, megabytes in costs))


def _measure(bench: Bench) -> Dict[str, List[Row]]:
    """Keys: `libraries` (a row per program) and `starts` (a row per command)."""
    libraries = []
    for program in _TARGETS:
        if not pathlib.Path(bench.path(program)).exists():
            continue
        paths = _libraries(bench.path(program))
        libraries.append({"program": program, "libraries": len(paths),
                          "megabytes": sum(path.stat().st_size for path in paths) / 1e6,
                          "own_megabytes": pathlib.Path(bench.path(program)).stat().st_size / 1e6})
    decode = ["--model=" + str(_DIGITS / "digits.pt"), f"--wav={_RECORDING}"]
    starts = []
    for program, arguments in (("decode_wav", ["--version"]), ("decode_wav", decode),
                               ("stream_server", ["--version"])):
        seconds, megabytes = _median_cost([bench.path(program), *arguments])
        starts.append({"command": " ".join([program, *arguments]), "cpu_s": seconds,
                       "peak_mb": megabytes})
    return {"libraries": libraries, "starts": starts}


def _write(results: Dict[str, List[Row]], _: Page) -> str:
    def target(row: Row) -> str:
        count, megabytes = _TARGETS[row["program"]]
        return f"{count} libraries" + (f", {megabytes} MB" if megabytes else "")

    return f"""Shared libraries that the loader maps (`ldd`), with those of the C library.

{table_of(results["libraries"], {
    "program": text("program"), "program, MB": number("own_megabytes", 1),
    "shared libraries": text("libraries"), "libraries, MB": number("megabytes", 1),
    "target at most": target})}
A process from its start to its end: the median of {_ROUNDS}. Targets: `--version`
{_VERSION_TARGET_S:g} s and {_VERSION_TARGET_MB} MB; the text of the recording of the digits
{_TEXT_TARGET_S:g} s.

""" + table_of(results["starts"], {
        "command": lambda row: f"`{row['command']}`", "CPU, s": number("cpu_s", 3),
        "peak memory, MB": number("peak_mb", 1)})


SECTIONS = [Section("Footprint", _measure, _write)]
