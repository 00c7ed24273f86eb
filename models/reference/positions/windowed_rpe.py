"""`windowed_rpe`: `chunk_rpe` for whole utterances whose frames attend to a window around them.

Query frame i reads the keys j with i - left <= j <= i + right (NeMo's rel_pos_local_attn, which is
Longformer without global tokens). The window moves with the query, so a right context is no chunk.
"""

import dataclasses

import torch
from torch import Tensor

from models.reference.attention import AttentionBias
from models.reference.fields import check_at_least
from models.reference.positions.chunk_rpe import (ChunkRpeAttention, ChunkRpeOptions,
                                                  ChunkRpePositions, rel_shift)
from models.reference.positions.scheme import Scheme


@dataclasses.dataclass(frozen=True)
class WindowedRpeOptions(ChunkRpeOptions):
    """The fields of ChunkRpeOptions, and the window in encoder frames."""

    left: int = -1  # -1: all
    right: int = -1  # -1: all

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("left", self.left, -1)
        check_at_least("right", self.right, -1)


class WindowedRpeAttention(ChunkRpeAttention):
    """Scores of keys outside of the window vanish."""

    def __init__(self, model_dim: int, num_heads: int, options: WindowedRpeOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, options, bias, dropout)
        self.left = options.left
        self.right = options.right

    def arrange(self, bd: Tensor, num_keys: int) -> Tensor:
        """As in SinusoidAttention."""
        queries = bd.size(2)
        frames = num_keys - queries + torch.arange(queries, device=bd.device)
        distances = frames.unsqueeze(1) - torch.arange(num_keys, device=bd.device)
        hidden = torch.zeros(queries, num_keys, dtype=torch.bool, device=bd.device)
        if self.left >= 0:
            hidden = hidden | (distances > self.left)
        if self.right >= 0:
            hidden = hidden | (distances < -self.right)
        # Finite: a padded query may see no key at all.
        return rel_shift(bd, num_keys).masked_fill(hidden, -1e30)


SCHEME = Scheme(WindowedRpeOptions, ChunkRpePositions, WindowedRpeAttention, whole_utterance=True)
