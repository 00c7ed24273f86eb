"""Figures as SVG."""

import pathlib
from typing import Callable

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLORS = {"float32": "#1f77b4", "bfloat16": "#2ca02c", "int8": "#d62728", "other": "#7f7f7f"}


def save_figure(path: pathlib.Path, draw: Callable[[Axes], None]) -> None:
    """Draws one figure whose y axis begins at zero. The same data gives the same file."""
    matplotlib.rcParams["svg.hashsalt"] = "runnel"
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    axes.set_ylim(bottom=0)
    axes.grid(True, color="#e0e0e0", linewidth=0.7)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    # Matplotlib ends lines with spaces, which version control complains about.
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(line.rstrip() + "\n" for line in text.splitlines()), encoding="utf-8")
