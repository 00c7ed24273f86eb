"""`none`: no positions; only the convolutions depend on the order of frames (ESPnet's no_pos)."""

import dataclasses

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.positions.scheme import Positions, Scheme


@dataclasses.dataclass(frozen=True)
class NoneOptions:
    """No fields."""


class NonePositions(Positions):
    """Adds nothing, makes no tables."""

    def __init__(self, model_dim: int, num_heads: int, options: NoneOptions) -> None:
        super().__init__()


class NoneAttention(SelfAttention):
    """Plain scaled dot products."""

    def __init__(self, model_dim: int, num_heads: int, options: NoneOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)


SCHEME = Scheme(NoneOptions, NonePositions, NoneAttention)
