"""Least-squares fits of measured times against what the operation count predicts."""

import dataclasses
from typing import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Line:
    """y = intercept + slope x."""

    intercept: float
    slope: float
    r_squared: float


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line through two or more points with the least squares of residuals in y."""
    design = np.stack([np.ones(len(x)), np.asarray(x, dtype=float)], axis=1)
    (intercept, slope), r_squared, _ = _solve(design, np.asarray(y, dtype=float))
    return Line(float(intercept), float(slope), r_squared)


@dataclasses.dataclass(frozen=True)
class OperationFit:
    """ms = overhead_ms + dense operations / dense speed + attention operations / its speed."""

    overhead_ms: float
    dense_gflops: float
    attention_gflops: float
    r_squared: float
    largest_deviation: float  # of a point, as a share of its measured time


def fit_operations(dense: Sequence[float], attention: Sequence[float],
                   ms: Sequence[float]) -> OperationFit:
    """Of chunks with so many operations of either kind, at least three of them.

    Residuals are relative to the measured times, so that short chunks count as much as long ones.
    """
    y = np.asarray(ms, dtype=float)
    design = np.stack([np.ones(len(y)), np.asarray(dense, dtype=float),
                       np.asarray(attention, dtype=float)], axis=1)
    coefficients, _, _ = _solve(design / y[:, None], np.ones(len(y)))
    predicted = design @ coefficients
    scatter = float(((y - y.mean()) ** 2).sum())
    r_squared = 1.0 - float(((y - predicted) ** 2).sum()) / scatter if scatter > 0 else 1.0
    per_ms = [1e-6 / value if value > 0 else float("inf") for value in coefficients[1:]]
    return OperationFit(float(coefficients[0]), per_ms[0], per_ms[1], r_squared,
                        float(np.abs(predicted / y - 1.0).max()))


def _solve(design: np.ndarray, y: np.ndarray) -> "tuple[np.ndarray, float, np.ndarray]":
    """Coefficients, R squared and residuals. Columns are scaled first: counts reach 10^10."""
    scale = np.abs(design).max(axis=0)
    scale = np.where(scale == 0, 1.0, scale)
    coefficients = np.linalg.lstsq(design / scale, y, rcond=None)[0] / scale
    residuals = y - design @ coefficients
    scatter = float(((y - y.mean()) ** 2).sum())
    r_squared = 1.0 - float((residuals ** 2).sum()) / scatter if scatter > 0 else 1.0
    return coefficients, r_squared, residuals
