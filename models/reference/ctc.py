"""The CTC head: the `ctc` section of a model file."""

import dataclasses

import torch
from torch import Tensor, nn

from models.reference.fields import check_at_least, check_blank


@dataclasses.dataclass(frozen=True)
class CtcConfig:
    """The `ctc` object of a model file."""

    vocab_size: int  # outputs, blank included
    blank_id: int = 0

    def __post_init__(self) -> None:
        check_at_least("vocab_size", self.vocab_size, 1)
        check_blank(self.blank_id, self.vocab_size)


class CtcHead(nn.Module):
    """The projection to the vocabulary (Graves et al. 2006)."""

    def __init__(self, model_dim: int, config: CtcConfig) -> None:
        super().__init__()
        self.ctc_lo = nn.Linear(model_dim, config.vocab_size)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> log probabilities (B, T, vocab_size)."""
        return torch.log_softmax(self.ctc_lo(x), dim=-1)
