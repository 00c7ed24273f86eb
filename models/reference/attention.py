"""Multi-head attention without positions: over given keys, and over cached and new ones.

Position schemes (models/reference/positions) derive their attention from SelfAttention.
"""

import dataclasses
import math
from typing import List, Tuple

import torch
from torch import Tensor, nn


@dataclasses.dataclass(frozen=True)
class AttentionBias:
    """The `attention_bias` object of a model file: which of the four projections have a bias."""

    query: bool = True
    key: bool = True
    value: bool = True
    out: bool = True


class Attention(nn.Module):
    """score(i, j) = q_i k_j / sqrt(d_k); schemes override `scores`, and some `context`."""

    def __init__(self, model_dim: int, num_heads: int, bias: AttentionBias,
                 dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = model_dim // num_heads
        self.linear_q = nn.Linear(model_dim, model_dim, bias=bias.query)
        self.linear_k = nn.Linear(model_dim, model_dim, bias=bias.key)
        self.linear_v = nn.Linear(model_dim, model_dim, bias=bias.value)
        self.linear_out = nn.Linear(model_dim, model_dim, bias=bias.out)
        self.dropout = nn.Dropout(dropout)

    def heads(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, H, T, d_k)."""
        return x.reshape(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def scores(self, q: Tensor, k: Tensor, tables: List[Tensor]) -> Tensor:
        """Scores (B, H, C, L) of C queries (B, H, C, d_k) and L keys (B, H, L, d_k).

        tables: computed by the scheme's Positions for these queries and keys.
        """
        return torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)

    def context(self, weights: Tensor, v: Tensor, tables: List[Tensor]) -> Tensor:
        """Weights (B, H, C, L) and values (B, H, L, d_k) to (B, H, C, d_k)."""
        return torch.matmul(weights, v)

    def keys_values(self, x: Tensor) -> Tensor:
        """(B, L, d) -> keys and values (B, H, L, 2 d_k)."""
        return torch.cat([self.heads(self.linear_k(x)), self.heads(self.linear_v(x))], 3)

    def attend(self, x: Tensor, keys_values: Tensor, tables: List[Tensor],
               visible: Tensor) -> Tensor:
        """Attends from C frames to L given keys.

        Args:
            x: (B, C, d). keys_values: (B, H, L, 2 d_k). tables: as in `scores`.
            visible: bool, broadcastable to (B, 1, C, L).

        Returns:
            (B, C, d)
        """
        q = self.heads(self.linear_q(x))
        k, v = keys_values.split(self.head_dim, dim=3)
        # Finite: a padded query without visible frames must not give NaN.
        scores = self.scores(q, k, tables).masked_fill(torch.logical_not(visible), -1e30)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = self.context(weights, v, tables)
        return self.linear_out(context.transpose(1, 2).flatten(2))


class SelfAttention(Attention):
    """Attention over cached and new frames."""

    def forward(self, x: Tensor, tables: List[Tensor], visible: Tensor,
                att_cache: Tensor) -> Tuple[Tensor, Tensor]:
        """Attends from C new frames to M' cached and C new ones, L = M' + C.

        Args:
            x: (B, C, d). tables: from the scheme's Positions.
            visible: bool, broadcastable to (B, 1, C, L).
            att_cache: (B, H, M', 2 d_k), keys then values.

        Returns:
            (B, C, d), and keys and values (B, H, L, 2 d_k) of all L frames.
        """
        keys_values = torch.cat([att_cache, self.keys_values(x)], 2)
        return self.attend(x, keys_values, tables, visible), keys_values


def chunk_mask(num_frames: int, chunk_size: int, left_context: int, like: Tensor) -> Tensor:
    """True where query i sees key j: chunkstart(i) - left_context <= j < chunkend(i).

    Args:
        num_frames: T, encoder frames. chunk_size: encoder frames, -1 for the whole utterance.
        left_context: encoder frames, -1 for all.

    Returns:
        (T, T) bool, on the device of `like`
    """
    frames = torch.arange(num_frames, device=like.device)
    size = chunk_size if chunk_size > 0 else max(num_frames, 1)
    chunk_start = torch.div(frames, size, rounding_mode="floor") * size
    visible = frames.unsqueeze(0) < (chunk_start + size).unsqueeze(1)
    if left_context >= 0:
        visible = visible & (frames.unsqueeze(0) >= (chunk_start - left_context).unsqueeze(1))
    return visible
