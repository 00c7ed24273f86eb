"""An endless, seeded stream of training batches, computed in a separate process.

Utterances are drawn in pools, sorted by length within a pool and cut into batches of about the same
number of frames, which keeps padding small.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from models.digits.compose import SOURCES, Composer, Sources, Utterance
from models.digits.fbank import Fbank, num_frames

POOL_UTTERANCES = 192


@dataclass
class Batch:
    """features (B, T, F) float32, lengths (B) int64 in frames, targets (sum) int64 concatenated,
    target_lengths (B) int64."""
    features: Tensor
    lengths: Tensor
    targets: Tensor
    target_lengths: Tensor


def mask_features(rng: np.random.Generator, features: Tensor, lengths: Tensor,
                  fill: Tensor) -> None:
    """SpecAugment (Park et al. 2019), in place: bands and spans are set to `fill` (F), the mean."""
    bins = features.size(2)
    for row, length in zip(features, lengths.tolist()):
        for _ in range(rng.integers(0, 3)):
            width = int(rng.integers(0, 9))
            start = int(rng.integers(0, bins - width + 1))
            row[:length, start:start + width] = fill[start:start + width]
        for _ in range(rng.integers(0, 2 + length // 100)):
            width = min(int(rng.integers(0, 11)), length)
            start = int(rng.integers(0, length - width + 1))
            row[start:start + width] = fill


class TrainingBatches(IterableDataset):
    """Batches from pool `first_pool` on; pool n has the same content in every run."""

    def __init__(self, stores_dir: Path, seed: int, first_pool: int, frames_per_batch: int,
                 mean: Tensor, sources: Sources = SOURCES) -> None:
        self.stores_dir = stores_dir
        self.seed = seed
        self.first_pool = first_pool
        self.frames_per_batch = frames_per_batch
        self.mean = mean
        self.sources = sources

    def __iter__(self) -> Iterator[Batch]:
        torch.set_num_threads(1)
        composer = Composer(self.stores_dir, self.sources)
        fbank = Fbank()
        pool = self.first_pool
        while True:
            rng = np.random.default_rng([self.seed, pool])
            utterances = [composer.utterance(rng) for _ in range(POOL_UTTERANCES)]
            groups = self._group(utterances)
            for index in rng.permutation(len(groups)):
                yield self._batch(rng, fbank, groups[index])
            pool += 1

    def _group(self, utterances: List[Utterance]) -> List[List[Utterance]]:
        ordered = sorted(utterances, key=lambda one: len(one.samples))
        groups: List[List[Utterance]] = [[]]
        for one in ordered:
            frames = num_frames(len(one.samples))
            if groups[-1] and frames * (len(groups[-1]) + 1) > self.frames_per_batch:
                groups.append([])
            groups[-1].append(one)
        return groups

    def _batch(self, rng: np.random.Generator, fbank: Fbank, group: List[Utterance]) -> Batch:
        features, lengths = fbank([one.samples for one in group], [one.warp for one in group])
        mask_features(rng, features, lengths, self.mean)
        return Batch(features, lengths,
                     torch.tensor([index for one in group for index in one.ids]),
                     torch.tensor([len(one.ids) for one in group]))


def load_batches(stores_dir: Path, seed: int, first_pool: int, frames_per_batch: int,
                 mean: Tensor, sources: Sources = SOURCES) -> Iterator[Batch]:
    """The same batches, computed ahead in another process."""
    dataset = TrainingBatches(stores_dir, seed, first_pool, frames_per_batch, mean, sources)
    return iter(DataLoader(dataset, batch_size=None, num_workers=1, prefetch_factor=8))


def feature_statistics(stores_dir: Path, seed: int, count: int = 1000) -> Tuple[Tensor, Tensor]:
    """Mean and inverse deviation (F) of each bin over `count` training utterances, without frames
    of digital silence."""
    composer = Composer(stores_dir)
    fbank = Fbank()
    rng = np.random.default_rng([seed, 1 << 30])
    total = torch.zeros(fbank.filters.size(1), dtype=torch.float64)
    squares = torch.zeros_like(total)
    frames = 0
    for _ in range(count):
        features, _ = fbank([composer.utterance(rng).samples])
        spoken = features[0][features[0].mean(dim=1) > 0.0].double()
        total += spoken.sum(dim=0)
        squares += spoken.square().sum(dim=0)
        frames += spoken.size(0)
    mean = total / frames
    deviation = (squares / frames - mean.square()).clamp(min=1e-6).sqrt()
    return mean.float(), (1.0 / deviation).float()
