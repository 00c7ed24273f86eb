"""Sinusoids of positions, and attention with a term of projected sinusoids."""

import dataclasses
import math
from typing import List

import torch
from torch import Tensor, nn

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.fields import check_choice

QUERY_SCALINGS = ("after_bias", "before_bias")


def sinusoids(positions: Tensor, dim: int, like: Tensor) -> Tensor:
    """Sinusoids of positions (Vaswani et al. 2017, section 3.5), computed in float64.

    Args:
        positions: (N), any sign; whole numbers are exact up to 2^53. dim: model_dim.
        like: the result takes its dtype and device.

    Returns:
        (N, dim), row p: sin(p w_m) at 2m and cos(p w_m) at 2m + 1, w_m = 10000^(-2m / dim).
    """
    frequencies = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64, device=like.device)
                            * (-math.log(10000.0) / dim))
    angles = positions.to(like.device, torch.float64).unsqueeze(1) * frequencies.unsqueeze(0)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=2).flatten(1).to(like.dtype)


@dataclasses.dataclass(frozen=True)
class SinusoidOptions:
    """Options of every scheme with a term (q + v) W_pos PE in the scores."""

    linear_pos_bias: bool = False  # W_pos has a bias
    query_scaling: str = "after_bias"  # "before_bias" (icefall): q / sqrt(d_k), then + u, + v

    def __post_init__(self) -> None:
        check_choice("query_scaling", self.query_scaling, QUERY_SCALINGS)


class SinusoidAttention(SelfAttention):
    """score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(.)) / sqrt(d_k) (Dai et al. 2019, 3.3).

    tables: [(N, d) sinusoids]; `arrange` of a scheme selects the column for each key.
    """

    def __init__(self, model_dim: int, num_heads: int, options: SinusoidOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)
        self.scale_first = options.query_scaling == "before_bias"
        self.linear_pos = nn.Linear(model_dim, model_dim, bias=options.linear_pos_bias)
        self.pos_bias_u = nn.Parameter(torch.empty(num_heads, self.head_dim))
        self.pos_bias_v = nn.Parameter(torch.empty(num_heads, self.head_dim))
        nn.init.xavier_uniform_(self.pos_bias_u)
        nn.init.xavier_uniform_(self.pos_bias_v)

    def arrange(self, bd: Tensor, num_keys: int) -> Tensor:
        """Scores (B, H, C, N) of queries and table rows to (B, H, C, L) of queries and keys."""
        return bd

    def scores(self, q: Tensor, k: Tensor, tables: List[Tensor]) -> Tensor:
        """As in SelfAttention."""
        scale = 1.0 / math.sqrt(self.head_dim)
        if self.scale_first:
            q = q * scale
        p = self.heads(self.linear_pos(tables[0].unsqueeze(0)))  # (1, H, N, d_k)
        ac = torch.matmul(q + self.pos_bias_u.unsqueeze(1), k.transpose(2, 3))
        bd = torch.matmul(q + self.pos_bias_v.unsqueeze(1), p.transpose(2, 3))
        scores = ac + self.arrange(bd, k.size(2))
        return scores if self.scale_first else scores * scale
