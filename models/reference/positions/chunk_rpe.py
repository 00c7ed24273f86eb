"""`chunk_rpe`: relative positions of Transformer-XL, for a chunk with cached keys.

Dai et al. 2019, section 3.3 and appendix B. Queries are multiplied with the sinusoids of all
distances; row i of the result is then shifted left by C - 1 - i. A whole utterance is a chunk
without cached keys.
"""

import dataclasses
from typing import List

import torch
from torch import Tensor

from models.reference.fields import check_choice
from models.reference.positions.scheme import Positions, Scheme
from models.reference.positions.sinusoids import SinusoidAttention, SinusoidOptions, sinusoids

TABLE_ORDERS = ("descending", "ascending")


@dataclasses.dataclass(frozen=True)
class ChunkRpeOptions(SinusoidOptions):
    """descending: PE(query frame - key frame); ascending: PE(key frame - query frame)."""

    table_order: str = "descending"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("table_order", self.table_order, TABLE_ORDERS)


def distances(num_queries: int, num_keys: int) -> Tensor:
    """Query frame minus key frame of each table row (L + C - 1): L - 1, L - 2, ..., -(C - 1)."""
    return num_keys - 1 - torch.arange(num_keys + num_queries - 1, dtype=torch.int64)


def rel_shift(scores: Tensor, num_keys: int) -> Tensor:
    """Row i of the (C, L + C - 1) score table, shifted left by C - 1 - i, first L columns kept.

    Column k of the table belongs to distance (L - 1) - k, column j of the result to key j. In
    memory, row i of the result starts at element C - 1 + i * (L + C - 2), so the shift is a slice.

    Args:
        scores: (B, H, C, L + C - 1). num_keys: L.

    Returns:
        (B, H, C, L)
    """
    batch, heads, rows, columns = scores.size(0), scores.size(1), scores.size(2), scores.size(3)
    if rows == 1:  # nothing to shift, and the table has no column to spare
        return scores[:, :, :, :num_keys]
    flat = scores.reshape(batch, heads, rows * columns)
    flat = flat[:, :, rows - 1:rows - 1 + rows * (columns - 1)]
    return flat.reshape(batch, heads, rows, columns - 1)[:, :, :, :num_keys]


class ChunkRpePositions(Positions):
    """One table: the sinusoids of all distances."""

    def __init__(self, model_dim: int, num_heads: int, options: ChunkRpeOptions) -> None:
        super().__init__()
        self.model_dim = model_dim
        self.sign = 1 if options.table_order == "descending" else -1

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the table is (L + C - 1, d)."""
        return [sinusoids(self.sign * distances(num_queries, num_keys), self.model_dim, like)]


class ChunkRpeAttention(SinusoidAttention):
    """Columns of the table are distances; the shift turns them into keys."""

    def arrange(self, bd: Tensor, num_keys: int) -> Tensor:
        """As in SinusoidAttention."""
        return rel_shift(bd, num_keys)


SCHEME = Scheme(ChunkRpeOptions, ChunkRpePositions, ChunkRpeAttention)
