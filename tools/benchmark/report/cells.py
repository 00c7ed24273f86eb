"""Shared parts of the page's sections: cells, tables of rows, commands and figures."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from tools.benchmark.pages.markdown import table
from tools.benchmark.report.programs import Row

Column = Tuple[str, Callable[[Row], str]]


def number(value: Optional[float], decimals: int, unit: str = "") -> str:
    return "-" if value is None else f"{value:.{decimals}f}{unit}"


def percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{share:.0%}".replace("%", " %")


def verdict(value: Optional[float], target: float, at_most: bool = False) -> str:
    """A ratio, and whether it reaches its target: at least that, or at most."""
    if value is None:
        return "-"
    reached = value <= target if at_most else value >= target
    return f"{value:.2f}x ({'reached' if reached else 'short'})"


# Of a row of bench_encoder.
COLUMNS: List[Column] = [
    ("precision", lambda row: row["precision"]),
    ("streams", lambda row: str(row["streams"])),
    ("ms", lambda row: number(row["median_ms"], 2)),
    ("p95", lambda row: number(row["p95_ms"], 2)),
    ("min", lambda row: number(row["min_ms"], 2)),
    ("real-time streams per core", lambda row: number(row["realtime_streams_per_core"], 0)),
    ("baseline ms", lambda row: number(row["baseline_median_ms"], 2)),
    ("speed-up", lambda row: number(row["speedup"], 2, "x")),
    ("matmuls", lambda row: percent(row["matmul_share"])),
    ("peak", lambda row: percent(row["fraction_of_peak"])),
    ("MB per stream", lambda row: number(row["bytes_per_stream"] / 1e6, 2)),
]


def table_of(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    return table([name for name, _ in columns],
                 [[cell(row) for _, cell in columns] for row in rows])


def row_of(rows: Sequence[Row], precision: str, streams: int) -> Optional[Row]:
    """The row of a precision and a number of streams, if it was measured."""
    found = [row for row in rows if (row["precision"], row["streams"]) == (precision, streams)]
    return found[0] if found else None


def commands(results: Dict[str, Any], section: str, shown: int = 3) -> str:
    """The first commands of a section, which differ in one flag."""
    typed = results["commands"].get(section, [])
    if not typed:
        return ""
    lines = typed[:shown] + ([f"... ({len(typed) - shown} more like these)"]
                             if len(typed) > shown else [])
    return "```\n" + "\n".join(lines) + "\n```\n"


def figure(figures: Sequence[str], file: str, text: str) -> str:
    return f"![{text}]({file})\n" if file in figures else ""
