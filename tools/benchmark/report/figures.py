"""The figures of the benchmark's page."""

import pathlib
from typing import Any, Callable, Dict, Iterable, List

from matplotlib.axes import Axes

from tools.benchmark.pages.figure import save_figure
from tools.benchmark.report.fit import fit_line
from tools.benchmark.report.programs import Row

COLORS = {"float32": "#1f77b4", "bfloat16": "#2ca02c", "int8": "#d62728"}
_OTHER = "#7f7f7f"


def save_figures(results: Dict[str, Any], folder: pathlib.Path) -> List[str]:
    """Draws a figure for each section that was measured. Returns the names of the files."""
    figures: Dict[str, Callable[[Axes], None]] = {}
    if results["table"]:
        figures["benchmark_batch.svg"] = lambda axes: _batch(axes, results)
    for section, name, label in (
            ("left_contexts", "left_context", "left context M (encoder frames)"),
            ("chunk_sizes", "chunk_size", "chunk size C (encoder frames)")):
        rows = results[section]
        if rows:
            figures[f"benchmark_{name}.svg"] = (
                lambda axes, rows=rows, name=name, label=label: _sweep(axes, rows, name, label))
    if results["long_run"]:
        figures["benchmark_hours.svg"] = lambda axes: _hours(axes, results["long_run"])
        figures["benchmark_memory.svg"] = lambda axes: _memory(axes, results["long_run"])
    for file, draw in figures.items():
        save_figure(folder / file, draw)
    return list(figures)


def _precisions(rows: Iterable[Row]) -> List[str]:
    return list(dict.fromkeys(row["precision"] for row in rows))


def _batch(axes: Axes, results: Dict[str, Any]) -> None:
    rows = results["table"]
    for precision in _precisions(rows):
        points = [row for row in rows if row["precision"] == precision]
        axes.plot([row["streams"] for row in points], [row["median_ms"] for row in points], "o-",
                  color=COLORS.get(precision, _OTHER), label=f"Runnel, {precision}")
    baseline = [row for row in rows if row["baseline_median_ms"]]
    axes.plot([row["streams"] for row in baseline],
              [row["baseline_median_ms"] for row in baseline], ".", color=_OTHER,
              label="TorchScript in LibTorch, one stream")
    for precision in _precisions(results["onnx"]):
        points = [row for row in results["onnx"] if row["precision"] == precision]
        axes.plot([row["streams"] for row in points], [row["median_ms"] for row in points], "x:",
                  color=COLORS.get(precision, _OTHER), label=f"ONNX Runtime, {precision}")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted({row["streams"] for row in rows}))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("streams in the batch")
    axes.set_ylabel("ms per chunk and stream (median)")


def _sweep(axes: Axes, rows: List[Row], name: str, label: str) -> None:
    """Points, and the straight line fitted to them."""
    for precision in _precisions(rows):
        for streams in sorted({row["streams"] for row in rows}):
            points = [row for row in rows
                      if row["precision"] == precision and row["streams"] == streams]
            x = [row[name] for row in points]
            y = [row["median_ms"] for row in points]
            color = COLORS.get(precision, _OTHER)
            alone = streams == min(row["streams"] for row in rows)
            axes.plot(x, y, "o" if alone else "s", color=color, markerfacecolor=color if alone
                      else "white", label=f"{precision}, streams: {streams}")
            if len(points) > 1:
                line = fit_line(x, y)
                axes.plot(x, [line.intercept + line.slope * value for value in x],
                          "-" if alone else "--", color=color, linewidth=0.8)
    axes.set_xlabel(label)
    axes.set_ylabel("ms per chunk and stream (median)")


def _hours(axes: Axes, run: Dict[str, Any]) -> None:
    hours = [row["minute"] / 60 for row in run["minutes"]]
    medians = [row["median_ms"] for row in run["minutes"]]
    axes.plot(hours, medians, linewidth=0.8, color=COLORS.get(run["precision"], _OTHER),
              label=f"median of each minute, {run['precision']}")
    axes.axhspan(0.97 * medians[0], 1.03 * medians[0], color="#d0d0d0", alpha=0.5,
                 label="first minute, plus or minus 3 %")
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("ms per chunk")


def _memory(axes: Axes, run: Dict[str, Any]) -> None:
    hours = [row["minute"] / 60 for row in run["minutes"]]
    for name, label in (("resident_bytes", "process, with the model"),
                        ("bytes_per_stream", "state of the stream")):
        axes.plot(hours, [row[name] / 1e6 for row in run["minutes"]], label=label)
    axes.set_xlabel("hours of the stream")
    axes.set_ylabel("MB")
