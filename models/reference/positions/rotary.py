"""`rotary`: queries and keys are turned by angles of their frames (Su et al. 2021).

Element m < d_k / 2 of a head and element m + d_k / 2 are a pair, turned by t 10000^(-2m / d_k) at
encoder frame t. A score depends on the distance of query and key only. Caches hold keys that are
not turned yet.
"""

import dataclasses
import math
from typing import List

import torch
from torch import Tensor

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.positions.scheme import Positions, Scheme
from models.reference.positions.sinusoids import sinusoids


@dataclasses.dataclass(frozen=True)
class RotaryOptions:
    """No fields."""


class RotaryPositions(Positions):
    """One table: sines and cosines of the angles of the keys' frames, for all frequencies."""

    def __init__(self, model_dim: int, num_heads: int, options: RotaryOptions) -> None:
        super().__init__()
        self.head_dim = model_dim // num_heads

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the table is (L, d_k)."""
        first = offset + num_queries - num_keys
        frames = first + torch.arange(num_keys, dtype=torch.int64)
        return [sinusoids(frames, self.head_dim, like)]


def rotated(x: Tensor, table: Tensor) -> Tensor:
    """x: (B, H, T, d_k). table: (T, d_k), sine and cosine of each pair in turn."""
    sine, cosine = table[:, 0::2], table[:, 1::2]
    first, second = x.chunk(2, dim=3)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], 3)


class RotaryAttention(SelfAttention):
    """Scaled dot products of what is turned."""

    def __init__(self, model_dim: int, num_heads: int, options: RotaryOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)

    def scores(self, q: Tensor, k: Tensor, tables: List[Tensor]) -> Tensor:
        """As in SelfAttention."""
        table = tables[0]
        q = rotated(q, table[table.size(0) - q.size(2):])
        return torch.matmul(q, rotated(k, table).transpose(2, 3)) / math.sqrt(self.head_dim)


SCHEME = Scheme(RotaryOptions, RotaryPositions, RotaryAttention)
