"""Runs bench_encoder, bench_operations and bench_language_model, and reads their results."""

import csv
import json
import os
import pathlib
import re
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Tuple

from tools.benchmark.pages.programs import ProgramError, run_program

Row = Dict[str, Any]


class Programs:
    """The programs of one build, on one model, with these additions to the environment."""

    def __init__(self, folder: pathlib.Path, model: pathlib.Path,
                 environment: Optional[Mapping[str, str]] = None) -> None:
        self._folder = folder
        self._model = model
        self._environment = environment or {}

    def within(self, environment: Mapping[str, str]) -> "Programs":
        """The same programs with these environment variables."""
        return Programs(self._folder, self._model, environment)

    def _run(self, name: str, arguments: List[str]) -> str:
        return run_program([str(self._folder / name), *arguments],
                           env={**os.environ, **self._environment})

    def command(self, flags: List[str]) -> str:
        """The command that a user would type for these flags, without this machine's folders."""
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        return " ".join([*variables, "bench_encoder", f"--model={self._model.name}", *flags])

    def instruction_sets(self) -> List[str]:
        """The names that RUNNEL_INSTRUCTION_SET may have, from the least to the most."""
        try:  # the message about a wrong name lists them
            self.within({"RUNNEL_INSTRUCTION_SET": "?"})._run(
                "bench_encoder", [f"--model={self._model}"])
        except ProgramError as error:
            names = re.search(r"RUNNEL_INSTRUCTION_SET is '\?', expected one of (.*)", str(error))
            if names is None:
                raise
            return names[1].split(", ")
        raise ProgramError("bench_encoder accepts any RUNNEL_INSTRUCTION_SET")

    def table(self, flags: List[str]) -> Tuple[List[Row], Dict[str, Any], Row]:
        """The rows of a table, as read_rows returns them; the machine; and load_s, first_ms,
        later_ms and peak_mb of the process's start."""
        with tempfile.TemporaryDirectory() as folder:
            rows, report = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "report.json")
            text = self._run("bench_encoder", [f"--model={self._model}", *flags, f"--csv={rows}",
                                               f"--json={report}"])
            machine = json.loads(report.read_text(encoding="utf-8"))["machine"]
            start = map(float, re.findall(r"[\d.]+(?= (?:m?s|MB)\b)", text.splitlines()[0]))
            names = ("load_s", "first_ms", "later_ms", "peak_mb")
            return read_rows(rows), machine, dict(zip(names, start))

    def long_run(self, hours: float, flags: List[str]) -> Dict[str, Any]:
        """One stream for hours: its `minutes` (rows), `summary` and the two ratios in it."""
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder, "minutes.csv")
            text = self._run("bench_encoder", [f"--model={self._model}", f"--hours={hours}",
                                               *flags, f"--csv={rows}"])
            ratios = [float(ratio) for ratio in re.findall(r"; ratio ([\d.]+)$", text, re.M)]
            return {"minutes": read_rows(rows), "summary": text.splitlines(),
                    "ratio_over_time": ratios[0], "ratio_in_turns": ratios[1]}

    def operations(self, min_time_s: float, pattern: str) -> List[Row]:
        """The name, items_per_second and counters of the operations that match a regular
        expression, or do not match it if it starts with "-"."""
        text = self._run("bench_operations", [f"--benchmark_min_time={min_time_s}",
                                              f"--benchmark_filter={pattern}",
                                              "--benchmark_format=json"])
        rows: List[Row] = json.loads(text)["benchmarks"]
        return rows

    def search(self, words: int, ngrams: int) -> Dict[str, float]:
        """The lines of bench_language_model: value by name, in the unit printed."""
        with tempfile.TemporaryDirectory() as folder:
            text = self._run("bench_language_model", [f"--folder={folder}", f"--words={words}",
                                                      f"--ngrams={ngrams}"])
        return {name.strip(): float(value)
                for name, value in re.findall(r"^(.{40}) +([\d.]+)", text, re.M)}


def read_rows(path: pathlib.Path) -> List[Row]:
    """The rows of a CSV file with a header: each value an int, a float, text, or None if empty."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()}
                for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
