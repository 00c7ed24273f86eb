"""The time of a chunk against its sizes, and against the age of its stream."""

import functools
import pathlib
import re
import tempfile
from typing import Any, Dict, List

import numpy as np
from matplotlib.axes import Axes

from tools.benchmark.pages.figure import COLORS
from tools.benchmark.report.bench import Bench, Page, Row, Section, command, read_rows
from tools.benchmark.report.cells import columns, commands, number, table_of
from tools.benchmark.report.one_core import streams
from tools.benchmark.report.plan import CHUNK_SIZE, LEFT_CONTEXT

DRIFT_TARGET = 0.03  # of the time per chunk after ten hours, relative to a new stream

_LINEAR = {
    "left_context": "The number of operations is linear in M: each encoder frame adds a key, a "
                    "position and a value\nfor each query. Straight lines by least squares:",
    "chunk_size": "The number of operations is linear in C, except for the attention within the "
                  "chunk, which is\nquadratic and small:"}


def _measure(name: str, bench: Bench) -> List[Row]:
    """One of chunk_size and left_context takes the values of the plan."""
    plan = bench.plan
    values = {"chunk_size": plan.chunk_sizes, "left_context": plan.left_contexts}[name]
    rows: List[Row] = []
    for precision in plan.precisions:
        for value in values:
            sizes = {"chunk_size": CHUNK_SIZE, "left_context": LEFT_CONTEXT, name: value}
            rows += bench.encoder(f"--precision={precision}", streams(*plan.sweep_streams),
                                  f"--seconds={plan.sweep_seconds}",
                                  *(f"--{size}={number_}" for size, number_ in sizes.items()))
    return rows


def fit_line(name: str, rows: List[Row]) -> Row:
    """The straight line of median_ms against `name` with the least squares of residuals."""
    x, y = (np.array([row[key] for row in rows], dtype=float) for key in (name, "median_ms"))
    slope, intercept = np.polyfit(x, y, 1)
    residuals = ((y - intercept - slope * x) ** 2).sum()
    return {**rows[0], "rows": rows, "intercept": intercept, "slope": slope,
            "r_squared": 1 - residuals / ((y - y.mean()) ** 2).sum()}


def _write(name: str, rows: List[Row], page: Page) -> str:
    lines = [fit_line(name, [row for row in rows if (row["precision"], row["streams"]) == kind])
             for kind in dict.fromkeys((row["precision"], row["streams"]) for row in rows)]
    return (f"{commands(rows, 1)}{_LINEAR[name]}\n\n" + table_of(lines, {
        **columns("precision", "streams"), "ms at 0": number("intercept", 3),
        "microseconds per frame": number("slope", 2, scale=1e3),
        "R squared": number("r_squared", 4)}) + "\n" + page.figure(
            f"benchmark_{name}.svg", f"time against {name.replace('_', ' ')}",
            lambda axes: _draw(axes, name, lines)))


def _draw(axes: Axes, name: str, lines: List[Row]) -> None:
    for line in lines:
        x = [row[name] for row in line["rows"]]
        color, alone = COLORS[line["precision"]], line["streams"] == lines[0]["streams"]
        axes.plot(x, [row["median_ms"] for row in line["rows"]], "o" if alone else "s", color=color,
                  markerfacecolor=color if alone else "white",
                  label=f"{line['precision']}, streams: {line['streams']}")
        axes.plot(x, [line["intercept"] + line["slope"] * value for value in x],
                  "-" if alone else "--", color=color, linewidth=0.8)
    axes.set_xlabel({"left_context": "left context M (encoder frames)",
                     "chunk_size": "chunk size C (encoder frames)"}[name])
    axes.set_ylabel("ms per chunk and stream (median)")


def _measure_hours(bench: Bench) -> Dict[str, Any]:
    """Of one stream in the last, cheapest precision."""
    flags = [f"--precision={bench.plan.precisions[-1]}", f"--hours={bench.plan.hours:g}"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "minutes.csv")
        text = bench.run("bench_encoder", f"--model={bench.model}", *flags, f"--csv={path}")
        over_time, in_turns = map(float, re.findall(r"; ratio ([\d.]+)$", text, re.M))
        return {"command": command(flags, bench.model, {}), "minutes": read_rows(path),
                "over_time": over_time, "in_turns": in_turns}


def _write_hours(run: Dict[str, Any], page: Page) -> str:
    state = [row["bytes_per_stream"] / 1e6 for row in run["minutes"]]
    process = [row["resident_bytes"] / 1e6 for row in run["minutes"]]
    verdict = "within" if abs(run["in_turns"] - 1) <= DRIFT_TARGET else "outside"
    return (f"""{commands([run])}Time per chunk of the last hour relative to the first minute:
{run["over_time"]:.3f}. That ratio includes changes of the CPU's clock, so the old stream was then
measured in turns with a new one: {run["in_turns"]:.3f}, {verdict} the target of
{DRIFT_TARGET * 100:g} %. State of the stream: {min(state):.2f} to {max(state):.2f} MB. Process:
{process[0]:.1f} MB after the first minute, {process[-1]:.1f} MB after the last.

"""
            + page.figure("benchmark_hours.svg", "time per chunk over the stream",
                          lambda axes: _draw_hours(axes, run["minutes"], page.plan.precisions[-1]))
            + page.figure("benchmark_memory.svg", "memory over the stream",
                          lambda axes: _draw_memory(axes, run["minutes"])))


def _draw_hours(axes: Axes, minutes: List[Row], precision: str) -> None:
    medians = [row["median_ms"] for row in minutes]
    axes.plot([row["minute"] / 60 for row in minutes], medians, linewidth=0.8,
              color=COLORS[precision], label=f"median of each minute, {precision}")
    axes.axhspan((1 - DRIFT_TARGET) * medians[0], (1 + DRIFT_TARGET) * medians[0], color="#d0d0d0",
                 alpha=0.5, label=f"first minute, plus or minus {DRIFT_TARGET * 100:g} %")
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("ms per chunk")


def _draw_memory(axes: Axes, minutes: List[Row]) -> None:
    for name, label in (("resident_bytes", "process, with the model"),
                        ("bytes_per_stream", "state of the stream")):
        axes.plot([row["minute"] / 60 for row in minutes],
                  [row[name] / 1e6 for row in minutes], label=label)
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("MB")


SECTIONS = [
    *(Section(title, functools.partial(_measure, name), functools.partial(_write, name))
      for title, name in (("Left context", "left_context"), ("Chunk size", "chunk_size"))),
    Section("Hours of one stream", _measure_hours, _write_hours)]
