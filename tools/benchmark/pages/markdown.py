"""Tables in Markdown."""

from typing import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are text; ends with a newline."""
    lines = [_row(header), "|" + " --- |" * len(header), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
