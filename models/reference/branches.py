"""The branch of a Branchformer beside attention, the cgMLP (Peng et al. 2022).

The E-Branchformer (Kim et al. 2022) has the same one.
"""

import dataclasses
from typing import Tuple

from torch import Tensor, nn

from models.reference.depthwise import TYPES, DepthwiseConvolution
from models.reference.feed_forward import GATE_ACTIVATIONS, activate
from models.reference.fields import check_at_least, check_choice


@dataclasses.dataclass(frozen=True)
class BranchesConfig:
    """The `branches` object of a model file."""

    cgmlp_dim: int  # channels before their halves are multiplied, even
    cgmlp_kernel_size: int  # encoder frames
    merge_kernel_size: int  # encoder frames; 0: no convolution before the projection
    type: str = "causal"  # of both convolutions
    linear_after_convolution: bool = False
    gate_activation: str = "identity"

    def __post_init__(self) -> None:
        check_choice("type", self.type, TYPES)
        check_at_least("cgmlp_dim", self.cgmlp_dim, 2)
        if self.cgmlp_dim % 2 != 0:
            raise ValueError(f"cgmlp_dim is {self.cgmlp_dim}, expected an even number")
        check_at_least("cgmlp_kernel_size", self.cgmlp_kernel_size, 1)
        check_at_least("merge_kernel_size", self.merge_kernel_size, 0)
        check_choice("gate_activation", self.gate_activation, GATE_ACTIVATIONS)


class SpatialGating(nn.Module):
    """The first half of the channels, times the second one normalised, filtered and activated."""

    def __init__(self, config: BranchesConfig, eps: float) -> None:
        super().__init__()
        dim = config.cgmlp_dim // 2
        self.activation = config.gate_activation
        self.zeros_before_norm = config.type == "causal"
        self.norm = nn.LayerNorm(dim, eps)
        self.conv = DepthwiseConvolution(dim, config.cgmlp_kernel_size, config.type, True)
        self.linear = nn.Linear(dim, dim) if config.linear_after_convolution else None

    def initial_cache(self, batch: int) -> Tensor:
        """(B, dim, left frames): the normalised gates before a stream."""
        zeros = self.conv.initial_cache(batch)
        return self.norm(zeros.transpose(1, 2)).transpose(1, 2) if self.zeros_before_norm else zeros

    def forward(self, x: Tensor, cache: Tensor, present: Tensor,
                chunk_size: int) -> Tuple[Tensor, Tensor]:
        """(B, T, 2 dim) and the caches of DepthwiseConvolution to (B, T, dim) and the cache."""
        values, gates = x.chunk(2, dim=2)
        filtered, cache = self.conv(self.norm(gates).transpose(1, 2), cache, present, chunk_size)
        gates = filtered.transpose(1, 2)
        if self.linear is not None:
            gates = self.linear(gates)
        return values * activate(gates, self.activation), cache


class Cgmlp(nn.Module):
    """Linear and GELU, gating, linear."""

    def __init__(self, model_dim: int, config: BranchesConfig, eps: float) -> None:
        super().__init__()
        self.channel_proj1 = nn.Linear(model_dim, config.cgmlp_dim)
        self.csgu = SpatialGating(config, eps)
        self.channel_proj2 = nn.Linear(config.cgmlp_dim // 2, model_dim)

    def forward(self, x: Tensor, cache: Tensor, present: Tensor,
                chunk_size: int) -> Tuple[Tensor, Tensor]:
        """(B, T, d) to (B, T, d) and the next cache."""
        y, cache = self.csgu(activate(self.channel_proj1(x), "gelu"), cache, present, chunk_size)
        return self.channel_proj2(y), cache
