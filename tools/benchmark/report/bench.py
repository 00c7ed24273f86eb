"""What the sections of the page share: the programs of a build, the machine, results."""

import csv
import json
import os
import pathlib
import re
import tempfile
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional

from matplotlib.axes import Axes

from tools.benchmark.pages.figure import save_figure
from tools.benchmark.pages.programs import run_program
from tools.benchmark.report.plan import Plan

Row = Dict[str, Any]


class Bench:
    """Measures with the programs of one build. Its methods raise ProgramError."""

    def __init__(self, plan: Plan, bin_folder: pathlib.Path, work: pathlib.Path) -> None:
        """The model of the plan is work/benchmark.pt."""
        self.plan, self.work = plan, work
        self.model = work / "benchmark.pt"
        self.results: Dict[str, Any] = {}  # of the sections that were measured, by title
        self.machine: Dict[str, Any] = {}
        self._bin = bin_folder

    def run(self, program: str, *arguments: str, **options: Any) -> str:
        """The standard output of a program; options are those of run_program."""
        return run_program([self.path(program), *arguments], **options)

    def path(self, program: str) -> str:
        return str(self._bin / program)

    def encoder(self, *flags: str, model: Optional[pathlib.Path] = None,
                environment: Optional[Mapping[str, str]] = None, **labels: Any) -> List[Row]:
        """The rows of bench_encoder's table: values by the names of its CSV, int, float, text, or
        None if empty. Added are the labels; the `command` that a user would type; what the
        process says about its start: `load_s`, `first_ms`, `later_ms`, `peak_mb`; and `compute`.

        Args:
            model: default: that of the plan.
            environment: additions to it.
        """
        model, environment = model or self.model, environment or {}
        with tempfile.TemporaryDirectory() as folder:
            path, report = pathlib.Path(folder, "rows.csv"), pathlib.Path(folder, "report.json")
            text = self.run("bench_encoder", f"--model={model}", *flags, f"--csv={path}",
                            f"--json={report}", env={**os.environ, **environment})
            machine = json.loads(report.read_text(encoding="utf-8"))["machine"]
            rows = read_rows(path)
        before, peaks, memory = self.machine, "peak_gflops_per_core", "memory_gb_per_second"
        self.machine = {**machine, peaks: {**before.get(peaks, {}), **machine.get(peaks, {})},
                        memory: max(before.get(memory, 0), machine[memory])}
        start = map(float, re.findall(r"[\d.]+(?= (?:m?s|MB)\b)", text.splitlines()[0]))
        added = {**dict(zip(("load_s", "first_ms", "later_ms", "peak_mb"), start)),
                 "compute": machine["compute"], **labels,
                 "command": command(flags, model, environment)}
        return [{**row, **added} for row in rows]

    def operations(self, min_time_s: float, pattern: str) -> List[Row]:
        """The name, items_per_second and counters of the operations that match a regular
        expression, or do not match it if it starts with "-"."""
        text = self.run("bench_operations", f"--benchmark_min_time={min_time_s}",
                        f"--benchmark_filter={pattern}", "--benchmark_format=json")
        rows: List[Row] = json.loads(text)["benchmarks"]
        return rows


def command(flags: Iterable[str], model: pathlib.Path, environment: Mapping[str, str]) -> str:
    """What a user would type, without the folders of this machine."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return " ".join([*variables, "bench_encoder", f"--model={model.name}", *flags])


def read_rows(path: pathlib.Path) -> List[Row]:
    """The rows of a CSV file with a header."""
    def value(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text or None

    with path.open(encoding="utf-8", newline="") as file:
        return [{name: value(text) for name, text in row.items()} for row in csv.DictReader(file)]


class Page(NamedTuple):
    """What a section may use when it is written."""

    plan: Plan
    results: Dict[str, Any]  # by title
    machine: Dict[str, Any]
    folder: pathlib.Path

    def figure(self, file: str, text: str, draw: Callable[[Axes], None]) -> str:
        """Draws a figure; returns its Markdown."""
        save_figure(self.folder / file, draw)
        return f"![{text}]({file})\n"


class Section(NamedTuple):
    """A part of the page. `write` gets what `measure` returned, which must fit into JSON."""

    title: str
    measure: Callable[[Bench], Any]
    write: Callable[[Any, Page], str]
