"""Means and deviations of features, from the files of WeNet and ESPnet."""

import io
import json
import math
import zipfile
from typing import List, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from models.convert.errors import ConversionError

SMALLEST_VARIANCE = 1e-20  # as in WeNet and ESPnet


def from_sums(sums: Sequence[float], squares: Sequence[float], count: float, source: str,
              smallest_variance: float = SMALLEST_VARIANCE) -> Tuple[Tensor, Tensor]:
    """(mean, 1 / deviation), each (bins) float32, from sums over `count` frames."""
    if not count > 0 or len(sums) != len(squares) or not sums:
        raise ConversionError(f"{source}: expected sums of as many bins as sums of squares and a "
                              "positive number of frames")
    mean = [total / count for total in sums]
    istd = [1 / math.sqrt(max(square / count - m * m, smallest_variance))
            for square, m in zip(squares, mean)]
    if not all(map(math.isfinite, mean + istd)):
        raise ConversionError(f"{source}: holds a value that is not finite")
    return torch.tensor(mean), torch.tensor(istd)


def read_wenet(data: bytes, is_json: bool, source: str) -> Tuple[Tensor, Tensor]:
    """WeNet's global_cmvn: JSON, or the text of Kaldi's compute-cmvn-stats --binary=false."""
    try:
        if is_json:
            content = json.loads(data.decode("utf-8"))
            return from_sums(_floats(content["mean_stat"]), _floats(content["var_stat"]),
                             float(content["frame_num"]), source)
        words = data.decode("ascii").split()
        if words[:1] != ["["] or words[-1:] != ["]"]:
            raise ValueError("brackets")
        numbers = _floats(words[1:-1])
        bins = len(numbers) // 2 - 1
        return from_sums(numbers[:bins], numbers[bins + 1:2 * bins + 1], numbers[bins], source)
    except (ValueError, KeyError, TypeError, IndexError):
        kind = "JSON with mean_stat, var_stat and frame_num" if is_json else "Kaldi's text"
        raise ConversionError(f"{source}: expected statistics as {kind}") from None


def read_espnet(data: bytes, source: str, smallest_variance: float) -> Tuple[Tensor, Tensor]:
    """ESPnet's feats_stats.npz: count, sum, sum_square. Pickled arrays are rejected."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as content:
            return from_sums(content["sum"].astype(float).ravel().tolist(),
                             content["sum_square"].astype(float).ravel().tolist(),
                             float(content["count"]), source, smallest_variance)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, zipfile.BadZipFile):
        raise ConversionError(f"{source}: expected arrays count, sum and sum_square") from None


def _floats(values: Sequence[object]) -> List[float]:
    return [float(value) for value in values]  # type: ignore[arg-type]
