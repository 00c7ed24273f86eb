"""The seam between the encoder and the position schemes."""

import dataclasses
from typing import Any, List, Type

from torch import Tensor, nn

from models.reference.attention import SelfAttention


class Positions(nn.Module):
    """The part of a scheme that all layers share. The default adds no positions.

    Encoder frames are numbered from the start of the stream, in 64 bits.
    """

    def enter(self, x: Tensor, offset: int) -> Tensor:
        """Adds positions to the input of layer 0 (B, C, d), whose first frame is `offset`."""
        return x

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """The tables for the attention of every layer, computed once per chunk.

        Args:
            num_queries: C, frames offset .. offset + C - 1.
            num_keys: L >= C, frames offset + C - L .. offset + C - 1.
            shared: the encoder's relative_keys, relative_values, if the scheme shares them.
            like: the tables take its dtype and device.
        """
        return []


@dataclasses.dataclass(frozen=True)
class Scheme:
    """One scheme: its options and the modules that implement it.

    options: a frozen dataclass, the fields of `position` in a model file without `scheme`.
    positions: constructed with (model_dim, num_heads, options).
    attention: constructed with (model_dim, num_heads, options, bias, dropout).
    whole_utterance: positions depend on the length of the utterance; it cannot stream.
    """

    options: Type[Any]
    positions: Type[Positions]
    attention: Type[SelfAttention]
    whole_utterance: bool = False
