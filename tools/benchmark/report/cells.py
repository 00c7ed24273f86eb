"""Cells and tables of the page's sections."""

from typing import Any, Callable, Dict, Optional, Sequence

from tools.benchmark.pages.markdown import table
from tools.benchmark.report.bench import Row

Cell = Callable[[Row], str]


def text(key: str) -> Cell:
    return lambda row: str(row[key])


def number(key: str, decimals: int, unit: str = "", scale: float = 1) -> Cell:
    """`-` where there is no value."""
    return lambda row: ("-" if row[key] is None else f"{row[key] * scale:.{decimals}f}{unit}")


def verdict(ratio: float, target: float, at_most: bool = False) -> str:
    """A ratio, and whether it reaches its target: at least that, or at most."""
    reached = ratio <= target if at_most else ratio >= target
    return f"{ratio:.2f}x ({'reached' if reached else 'short'})"


# Of a row of bench_encoder.
COLUMNS: Dict[str, Cell] = {
    "precision": text("precision"),
    "streams": text("streams"),
    "ms": number("median_ms", 2),
    "p95": number("p95_ms", 2),
    "min": number("min_ms", 2),
    "real-time streams per core": number("realtime_streams_per_core", 0),
    "baseline ms": number("baseline_median_ms", 2),
    "speed-up": number("speedup", 2, "x"),
    "matmuls": number("matmul_share", 0, " %", 100),
    "peak": number("fraction_of_peak", 0, " %", 100),
    "MB per stream": number("bytes_per_stream", 2, scale=1e-6),
}


def columns(*names: str) -> Dict[str, Cell]:
    return {name: COLUMNS[name] for name in names}


def table_of(rows: Sequence[Row], cells: Dict[str, Cell]) -> str:
    return table(list(cells), [[cell(row) for cell in cells.values()] for row in rows])


def row_of(rows: Sequence[Row], **values: Any) -> Optional[Row]:
    """The first row with these values."""
    return next((row for row in rows if row.items() >= values.items()), None)


def commands(rows: Sequence[Row], shown: int = 3) -> str:
    """The first commands that measured the rows; they differ in one flag."""
    typed = list(dict.fromkeys(row["command"] for row in rows))
    more = len(typed) - shown
    lines = typed[:shown] + ([f"... ({more} more like these)"] if more > 0 else [])
    return "```\n" + "\n".join(lines) + "\n```\n\n"
