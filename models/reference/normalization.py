"""Normalisation of feature frames, and the specification of its streaming statistics.

`global_cmvn` is part of the encoder. With `utterance`, `running` and their variants the caller
normalises: the methods of the model take frames from `normalize_utterance` or `normalize_running`.
"""

import dataclasses
from typing import Optional

import torch
from torch import Tensor, nn

from models.reference.fields import check_choice, check_positive
from models.reference.subsampling import Geometry

# What x - mean is divided by, of N frames: s + epsilon, s with N - 1 (NeMo's per_feature);
# max(s, epsilon), s with N (ESPnet's utterance_mvn with norm_vars); 1 (ESPnet's utterance_mvn).
UNBIASED, BIASED, MEAN = "unbiased", "biased", "mean"
# By statistics of the whole utterance, or of the frames so far.
UTTERANCE_TYPES = {"utterance": UNBIASED, "utterance_biased": BIASED, "utterance_mean": MEAN}
RUNNING_TYPES = {"running": UNBIASED, "running_biased": BIASED, "running_mean": MEAN}
STATISTICS_TYPES = {**UTTERANCE_TYPES, **RUNNING_TYPES}
TYPES = ("none", "global_cmvn", *STATISTICS_TYPES)
EPSILON_TYPES = tuple(kind for kind, deviation in STATISTICS_TYPES.items() if deviation != MEAN)


@dataclasses.dataclass(frozen=True)
class NormalizationConfig:
    """The `normalization` object of a model file; epsilon for EPSILON_TYPES only."""

    type: str = "global_cmvn"
    epsilon: Optional[float] = None  # of the standard deviation

    def __post_init__(self) -> None:
        check_choice("type", self.type, TYPES)
        if (self.epsilon is not None) != (self.type in EPSILON_TYPES):
            raise ValueError(f"epsilon belongs to {', '.join(EPSILON_TYPES)} and only to them, "
                             f"type is {self.type}")
        if self.epsilon is not None:
            check_positive("epsilon", self.epsilon)


class GlobalCmvn(nn.Module):
    """(x - mean) * istd per feature bin, both (input_dim), fixed before training."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(input_dim))
        self.register_buffer("istd", torch.ones(input_dim))

    def forward(self, features: Tensor) -> Tensor:
        """(B, T, input_dim) -> the same shape."""
        return (features - self.mean) * self.istd


class Statistics:
    """Mean and standard deviation per bin of the frames so far, in float64.

    Batches of frames are merged pairwise (Chan, Golub and LeVeque 1979), because a plain sum of
    squares loses digits over a long stream.
    """

    def __init__(self, num_bins: int) -> None:
        self.count = 0
        self.mean = torch.zeros(num_bins, dtype=torch.float64)
        self.squares = torch.zeros(num_bins, dtype=torch.float64)  # of deviations from the mean

    def add(self, frames: Tensor) -> None:
        """Merges frames (n, num_bins); nothing if n is 0."""
        added = frames.size(0)
        if added == 0:
            return
        frames = frames.double()
        mean = frames.mean(0)
        total = self.count + added
        difference = mean - self.mean
        self.squares = (self.squares + ((frames - mean) ** 2).sum(0)
                        + difference ** 2 * (self.count * added / total))
        self.mean = self.mean + difference * (added / total)
        self.count = total

    def std(self, unbiased: bool = True) -> Tensor:
        """(num_bins); unbiased: with N - 1 in the denominator, and 0 for a single frame."""
        return torch.sqrt(self.squares / max(self.count - (1 if unbiased else 0), 1))

    def normalize(self, frames: Tensor, epsilon: Optional[float],
                  deviation: str = UNBIASED) -> Tensor:
        """(n, num_bins) -> (x - mean) / divisor, computed in float64, rounded once."""
        centred = frames.double() - self.mean
        if deviation == UNBIASED:
            centred = centred / (self.std() + epsilon)
        elif deviation == BIASED:
            centred = centred / self.std(False).clamp_min(epsilon)
        return centred.to(frames.dtype)


def normalize_utterance(features: Tensor, epsilon: Optional[float],
                        deviation: str = UNBIASED) -> Tensor:
    """(T, input_dim) by the statistics of all T frames."""
    statistics = Statistics(features.size(1))
    statistics.add(features)
    return statistics.normalize(features, epsilon, deviation)


def normalize_running(features: Tensor, epsilon: Optional[float], chunk_size: int,
                      geometry: Geometry, deviation: str = UNBIASED) -> Tensor:
    """(T, input_dim) as a stream with this chunk size normalises them.

    A chunk adds the frames up to the last one that its chunk_size encoder frames read (without
    padding), or to the end of the stream. New frames are normalised once, by the statistics of all
    frames so far. They keep these values when the next chunk reads them again.

    Args:
        chunk_size: encoder frames; -1, the whole utterance, gives normalize_utterance.
        geometry: of the model's subsampling.
    """
    statistics = Statistics(features.size(1))
    normalized, start, offset = [features[:0]], 0, 0
    while start < features.size(0):
        end = features.size(0)
        if chunk_size > 0:
            end = min(end, geometry.feature_range(offset, chunk_size)[1])
        statistics.add(features[start:end])
        normalized.append(statistics.normalize(features[start:end], epsilon, deviation))
        start, offset = end, offset + chunk_size
    return torch.cat(normalized, 0)
