"""icefall's BasicNorm: the norm of the reworked Conformer."""

import torch
from torch import Tensor, nn


class BasicNorm(nn.Module):
    """x / sqrt(mean of x^2 + epsilon) over the last dimension. The epsilon is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.log_epsilon = nn.Parameter(torch.full((1,), -1.4))  # log(0.25), rounded

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, T, d)."""
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.log_epsilon.exp())
