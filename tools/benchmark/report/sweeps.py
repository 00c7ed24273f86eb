"""Time against left context and chunk size, and against the number of operations."""

from typing import Any, Dict, List, Sequence

from tools.benchmark.report.cells import (COLUMNS, Column, commands, figure, number, percent,
                                          table_of)
from tools.benchmark.report.fit import fit_line, fit_operations
from tools.benchmark.report.programs import Row


def section(results: Dict[str, Any], figures: Sequence[str]) -> str:
    """Part of the page; empty if nothing was measured."""
    return "\n".join(part for part in (_left_context(results, figures),
                                       _chunk_size(results, figures), _fits(results)) if part)


def _left_context(results: Dict[str, Any], figures: Sequence[str]) -> str:
    rows = results["left_contexts"]
    if not rows:
        return ""
    return ("## Left context\n\n" + commands(results, "left_contexts", 1) + "\n"
            "The number of operations is linear in M: each encoder frame adds a key, a position "
            "and a value for each query. Straight lines by least squares:\n\n"
            + _linear(rows, "left_context") + "\n"
            + figure(figures, "benchmark_left_context.svg", "time against left context"))


def _chunk_size(results: Dict[str, Any], figures: Sequence[str]) -> str:
    rows = results["chunk_sizes"]
    if not rows:
        return ""
    return ("## Chunk size\n\n" + commands(results, "chunk_sizes", 1) + "\n"
            "The number of operations is linear in C, except for the attention within the chunk, "
            "which is quadratic and small:\n\n" + _linear(rows, "chunk_size") + "\n"
            + figure(figures, "benchmark_chunk_size.svg", "time against chunk size"))


def _linear(rows: Sequence[Row], name: str) -> str:
    """Straight lines through each precision and batch."""
    fits = []
    for precision, streams in dict.fromkeys((row["precision"], row["streams"]) for row in rows):
        points = [row for row in rows
                  if (row["precision"], row["streams"]) == (precision, streams)]
        if len(points) > 2:
            fits.append({"precision": precision, "streams": streams,
                         "line": fit_line([row[name] for row in points],
                                          [row["median_ms"] for row in points])})
    columns: List[Column] = [
        *COLUMNS[:2],
        ("ms at 0", lambda row: number(row["line"].intercept, 3)),
        ("microseconds per frame", lambda row: number(row["line"].slope * 1e3, 2)),
        ("R squared", lambda row: number(row["line"].r_squared, 4))]
    return table_of(fits, columns) if fits else ""


def _fits(results: Dict[str, Any]) -> str:
    rows = results["left_contexts"] + results["chunk_sizes"]
    fits = []
    for precision, streams in dict.fromkeys((row["precision"], row["streams"]) for row in rows):
        points = [row for row in rows
                  if (row["precision"], row["streams"]) == (precision, streams)]
        if len(points) > 3:
            fits.append({"precision": precision, "streams": streams, "fit": fit_operations(
                [row["dense_operations"] for row in points],
                [row["attention_operations"] for row in points],
                [row["median_ms"] for row in points])})
    if not fits:
        return ""
    columns: List[Column] = [
        *COLUMNS[:2],
        ("constant ms", lambda row: number(row["fit"].overhead_ms, 3)),
        ("dense, 10^9/s", lambda row: number(row["fit"].dense_gflops, 0)),
        ("attention, 10^9/s", lambda row: number(row["fit"].attention_gflops, 0)),
        ("R squared", lambda row: number(row["fit"].r_squared, 4)),
        ("largest deviation", lambda row: percent(row["fit"].largest_deviation))]
    return ("## Time and number of operations\n\n"
            "A fit over both sweeps: time = a constant + dense operations / their speed + "
            "attention operations / their speed. Dense operations are those of matmuls with "
            "weights, attention operations those of scores and context. The fit minimises the "
            "squares of relative residuals. A speed of inf means that the fit attributes no time "
            "to these operations.\n\n"
            + table_of(fits, columns))
