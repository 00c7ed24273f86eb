"""`grouped_unshifted`: unshifted positions with grouped attention (Burchi and Vielzeuf 2021), as in
WeNet's Efficient Conformer.

The queries, keys, values and projected positions of G consecutive frames are one row each of G d
values, which is split into heads of G d_k. Missing frames of the last group are zeros.
"""

import dataclasses
import math
from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.fields import check_at_least
from models.reference.positions.scheme import Scheme
from models.reference.positions.sinusoids import SinusoidOptions
from models.reference.positions.unshifted import UnshiftedPositions


@dataclasses.dataclass(frozen=True)
class GroupedUnshiftedOptions(SinusoidOptions):
    """Those of SinusoidOptions, and the frames of a group in each layer; 1: no groups."""

    group_sizes: List[int] = dataclasses.field(default_factory=lambda: [1])

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in self.group_sizes:
            check_at_least("group_sizes", size, 1)


class GroupedAttention(SelfAttention):
    """The attention of one layer, whose group size is the only one of `options`."""

    def __init__(self, model_dim: int, num_heads: int, options: GroupedUnshiftedOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)
        [self.group_size] = options.group_sizes
        self.scale_first = options.query_scaling == "before_bias"
        self.linear_pos = nn.Linear(model_dim, model_dim, bias=options.linear_pos_bias)
        self.pos_bias_u = nn.Parameter(torch.empty(num_heads, self.group_size * self.head_dim))
        self.pos_bias_v = nn.Parameter(torch.empty(num_heads, self.group_size * self.head_dim))
        nn.init.xavier_uniform_(self.pos_bias_u)
        nn.init.xavier_uniform_(self.pos_bias_v)

    def groups(self, x: Tensor, present: Tensor) -> Tensor:
        """(B, T, d) and presence, broadcastable to (B, T), to (B, H, groups, G d_k)."""
        x = x.masked_fill(torch.logical_not(present).unsqueeze(2), 0.0)
        x = F.pad(x, [0, 0, 0, -x.size(1) % self.group_size])
        return x.reshape(x.size(0), -1, self.num_heads,
                         self.group_size * self.head_dim).transpose(1, 2)

    def attend(self, x: Tensor, keys_values: Tensor, tables: List[Tensor],
               visible: Tensor) -> Tensor:
        """As in Attention. A group is visible where its first frame is."""
        present = visible.any(2)[:, 0]  # of the keys; the queries are the last of them
        k, v = keys_values.split(self.head_dim, dim=3)
        k = self.groups(k.transpose(1, 2).flatten(2), present)
        v = self.groups(v.transpose(1, 2).flatten(2), present)
        p = self.groups(self.linear_pos(tables[0].unsqueeze(0)).expand(present.size(0), -1, -1),
                        present)
        q = self.groups(self.linear_q(x), present[:, max(0, present.size(1) - x.size(1)):])
        scale = 1.0 / math.sqrt(self.group_size * self.head_dim)
        if self.scale_first:
            q = q * scale
        scores = (torch.matmul(q + self.pos_bias_u.unsqueeze(1), k.transpose(2, 3))
                  + torch.matmul(q + self.pos_bias_v.unsqueeze(1), p.transpose(2, 3)))
        if not self.scale_first:
            scores = scores * scale
        visible = visible[:, :, ::self.group_size, ::self.group_size]
        scores = scores.masked_fill(torch.logical_not(visible), -1e30)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = torch.matmul(weights, v).transpose(1, 2)
        context = context.reshape(x.size(0), -1, x.size(2))[:, :x.size(1)]
        return self.linear_out(context)


SCHEME = Scheme(GroupedUnshiftedOptions, UnshiftedPositions, GroupedAttention)
