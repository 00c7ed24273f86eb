"""`absolute`: sinusoids of the frame number, added once to the encoder's input.

x_t + PE(t) (Vaswani et al. 2017, section 3.5). In a stream t continues from chunk to chunk. It
has 64 bits, so the length of a stream is not limited.
"""

import dataclasses

import torch
from torch import Tensor

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.positions.scheme import Positions, Scheme
from models.reference.positions.sinusoids import sinusoids


@dataclasses.dataclass(frozen=True)
class AbsoluteOptions:
    """No fields."""


class AbsolutePositions(Positions):
    """Adds the sinusoids, makes no tables."""

    def __init__(self, model_dim: int, num_heads: int, options: AbsoluteOptions) -> None:
        super().__init__()
        self.model_dim = model_dim

    def enter(self, x: Tensor, offset: int) -> Tensor:
        """As in Positions."""
        frames = offset + torch.arange(x.size(1), dtype=torch.int64)
        return x + sinusoids(frames, self.model_dim, x)


class AbsoluteAttention(SelfAttention):
    """Plain scaled dot products."""

    def __init__(self, model_dim: int, num_heads: int, options: AbsoluteOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)


SCHEME = Scheme(AbsoluteOptions, AbsolutePositions, AbsoluteAttention)
