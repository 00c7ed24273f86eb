"""The position-wise feed-forward module and the activations (Gulati et al. 2020, section 2.3)."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.fields import check_choice

ACTIVATIONS = ("swish", "relu", "gelu", "double_swish")
GATE_ACTIVATIONS = ("identity", "swish", "relu", "gelu", "tanh")
TRANSDUCER_ACTIVATIONS = ("relu", "tanh", "swish", "gelu", "sigmoid", "identity")


@dataclasses.dataclass(frozen=True)
class FeedForwardConfig:
    """The `feed_forward` object of a model file."""

    # A second one before the attention, both with weight 1/2, or 1 in the reworked Conformer.
    macaron: bool = True
    activation: str = "swish"
    bias: bool = True

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ACTIVATIONS)


def activate(x: Tensor, activation: str) -> Tensor:
    """Elementwise activation; `gelu` is exact: x times the normal distribution function of x."""
    if activation == "swish":
        return F.silu(x)
    if activation == "relu":
        return F.relu(x)
    if activation == "tanh":
        return torch.tanh(x)
    if activation == "sigmoid":
        return torch.sigmoid(x)
    if activation == "double_swish":
        return x * torch.sigmoid(x - 1.0)
    if activation == "identity":
        return x
    return F.gelu(x)


class FeedForward(nn.Module):
    """Linear, activation, linear."""

    def __init__(self, model_dim: int, hidden_dim: int, config: FeedForwardConfig,
                 dropout: float) -> None:
        super().__init__()
        self.activation = config.activation
        self.w_1 = nn.Linear(model_dim, hidden_dim, bias=config.bias)
        self.w_2 = nn.Linear(hidden_dim, model_dim, bias=config.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, T, d)."""
        return self.w_2(self.dropout(activate(self.w_1(x), self.activation)))
