"""`relative_key_value`: learned vectors of clipped distances, on keys and values.

Shaw et al. 2018, section 3: with index(i, j) = clip(key frame - query frame, -k, k) + k,
score(i, j) = q_i (k_j + a^K[index]) / sqrt(d_k) and out_i = sum_j weight(i, j) (v_j + a^V[index]).
The vectors are shared by the heads of a layer, and by all layers if `shared`.
"""

import dataclasses
import math
from typing import Any, Dict, List

import torch
from torch import Tensor, nn

from models.reference.attention import AttentionBias, SelfAttention
from models.reference.fields import check_at_least
from models.reference.positions.scheme import Positions, Scheme


@dataclasses.dataclass(frozen=True)
class RelativeKeyValueOptions:
    """max_distance: k, encoder frames. values: a^V exists. shared: by all layers."""

    max_distance: int = 64
    values: bool = True
    shared: bool = False

    def __post_init__(self) -> None:
        check_at_least("max_distance", self.max_distance, 0)


def make_vectors(options: RelativeKeyValueOptions, head_dim: int) -> Dict[str, nn.Parameter]:
    """(2k + 1, d_k) each, row r for key frame - query frame = r - k."""
    names = ["relative_keys", "relative_values"] if options.values else ["relative_keys"]
    shape = (2 * options.max_distance + 1, head_dim)
    return {name: nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape))) for name in names}


def shared_vectors(position: Any, head_dim: int) -> Dict[str, nn.Parameter]:
    """The vectors of the encoder, if all layers share them; otherwise empty."""
    if isinstance(position, RelativeKeyValueOptions) and position.shared:
        return make_vectors(position, head_dim)
    return {}


class RelativeKeyValuePositions(Positions):
    """The table of indices, followed by the shared vectors."""

    def __init__(self, model_dim: int, num_heads: int, options: RelativeKeyValueOptions) -> None:
        super().__init__()
        self.max_distance = options.max_distance

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the indices are (C, L) int64."""
        queries = num_keys - num_queries + torch.arange(num_queries, device=like.device)
        ahead = torch.arange(num_keys, device=like.device).unsqueeze(0) - queries.unsqueeze(1)
        index = torch.clamp(ahead, -self.max_distance, self.max_distance) + self.max_distance
        return [index] + shared


class RelativeKeyValueAttention(SelfAttention):
    """Avoids a (C, L, d_k) tensor: relative keys are selected after multiplication with the query,
    and weights are summed per distance before multiplication with the relative values."""

    def __init__(self, model_dim: int, num_heads: int, options: RelativeKeyValueOptions,
                 bias: AttentionBias, dropout: float) -> None:
        super().__init__(model_dim, num_heads, bias, dropout)
        self.values = options.values
        vectors = {} if options.shared else make_vectors(options, self.head_dim)
        self.register_parameter("relative_keys", vectors.get("relative_keys"))
        self.register_parameter("relative_values", vectors.get("relative_values"))

    def scores(self, q: Tensor, k: Tensor, tables: List[Tensor]) -> Tensor:
        """As in SelfAttention."""
        keys = self.relative_keys
        relative = torch.matmul(q, (tables[1] if keys is None else keys).transpose(0, 1))
        index = tables[0].expand(q.size(0), q.size(1), -1, -1)
        scores = torch.matmul(q, k.transpose(2, 3)) + torch.gather(relative, 3, index)
        return scores / math.sqrt(self.head_dim)

    def context(self, weights: Tensor, v: Tensor, tables: List[Tensor]) -> Tensor:
        """As in SelfAttention."""
        context = torch.matmul(weights, v)
        if self.values:
            values = self.relative_values
            vectors = tables[2] if values is None else values
            index = tables[0].expand(weights.size(0), weights.size(1), -1, -1)
            sums = torch.zeros(weights.size(0), weights.size(1), weights.size(2),
                               vectors.size(0), dtype=weights.dtype, device=weights.device)
            context = context + torch.matmul(sums.scatter_add(3, index, weights), vectors)
        return context


SCHEME = Scheme(RelativeKeyValueOptions, RelativeKeyValuePositions, RelativeKeyValueAttention)
