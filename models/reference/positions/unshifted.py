"""`unshifted`: WeNet's rel_pos. Transformer-XL's formula with the frame number of the key in place
of the distance, and without a row shift.

Frame numbers have 64 bits; WeNet's limit is 5000.
"""

import dataclasses
from typing import List

import torch
from torch import Tensor

from models.reference.positions.scheme import Positions, Scheme
from models.reference.positions.sinusoids import SinusoidAttention, SinusoidOptions, sinusoids


@dataclasses.dataclass(frozen=True)
class UnshiftedOptions(SinusoidOptions):
    """The fields of SinusoidOptions."""


class UnshiftedPositions(Positions):
    """One table: the sinusoids of the keys' frames."""

    def __init__(self, model_dim: int, num_heads: int, options: UnshiftedOptions) -> None:
        super().__init__()
        self.model_dim = model_dim

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the table is (L, d)."""
        first = offset + num_queries - num_keys
        return [sinusoids(first + torch.arange(num_keys, dtype=torch.int64), self.model_dim,
                          like)]


SCHEME = Scheme(UnshiftedOptions, UnshiftedPositions, SinusoidAttention)
