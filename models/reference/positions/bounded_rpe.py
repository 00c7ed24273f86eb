"""`bounded_rpe`: chunk_rpe with distances clamped to +-(radius - 1).

The rows at the edges of the table repeat; the shift is that of chunk_rpe.
"""

import dataclasses
from typing import List

import torch
from torch import Tensor

from models.reference.fields import check_at_least
from models.reference.positions.chunk_rpe import (ChunkRpeAttention, ChunkRpeOptions,
                                                  ChunkRpePositions, distances)
from models.reference.positions.scheme import Scheme
from models.reference.positions.sinusoids import sinusoids


@dataclasses.dataclass(frozen=True)
class BoundedRpeOptions(ChunkRpeOptions):
    """radius: Z, at least 1; encoder frames."""

    radius: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("radius", self.radius, 1)


class BoundedRpePositions(ChunkRpePositions):
    """One table: the sinusoids of all distances, clamped."""

    def __init__(self, model_dim: int, num_heads: int, options: BoundedRpeOptions) -> None:
        super().__init__(model_dim, num_heads, options)
        self.bound = options.radius - 1

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the table is (L + C - 1, d)."""
        clamped = torch.clamp(distances(num_queries, num_keys), -self.bound, self.bound)
        return [sinusoids(self.sign * clamped, self.model_dim, like)]


SCHEME = Scheme(BoundedRpeOptions, BoundedRpePositions, ChunkRpeAttention)
