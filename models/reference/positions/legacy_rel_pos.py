"""`legacy_rel_pos`: ESPnet's relative positions of 2020 (LegacyRelPositionalEncoding,
LegacyRelPositionMultiHeadedAttention with zero_triu false), for models trained with it.

The table has T rows, row m holding PE(N - 1 - m), N the larger of table_length and T. A zero column
is put before the (T, T) scores, which are then read in rows one shorter. For query i and key j:

    j <= i:     (q_i + v) W_pos PE(N - T + i - j)
    j = i + 1:  0
    j > i + 1:  (q_{i+1} + v) W_pos PE(N + 1 - j + i), the next query's row

Scores depend on the length of the utterance, so the scheme needs the whole utterance. ESPnet keeps
the table of the longest utterance so far if that exceeds table_length; here N is that of the
current utterance. In a padded batch T is the padded length, as in ESPnet.
"""

import dataclasses
from typing import List

import torch
from torch import Tensor

from models.reference.fields import check_at_least
from models.reference.positions.scheme import Positions, Scheme
from models.reference.positions.sinusoids import SinusoidAttention, SinusoidOptions, sinusoids


@dataclasses.dataclass(frozen=True)
class LegacyRelPosOptions(SinusoidOptions):
    """table_length: rows of the table that ESPnet cuts its T rows from."""

    table_length: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("table_length", self.table_length, 1)


def legacy_shift(scores: Tensor) -> Tensor:
    """The shift of the file comment; (B, H, T, T) to the same shape."""
    batch, heads, frames = scores.size(0), scores.size(1), scores.size(2)
    zero = torch.zeros(batch, heads, frames, 1, dtype=scores.dtype, device=scores.device)
    flat = torch.cat([zero, scores], 3).reshape(batch, heads, (frames + 1) * frames)
    return flat[:, :, frames:].reshape(batch, heads, frames, frames)


class LegacyRelPosPositions(Positions):
    """One table, from the last position to the first."""

    def __init__(self, model_dim: int, num_heads: int, options: LegacyRelPosOptions) -> None:
        super().__init__()
        self.model_dim = model_dim
        self.table_length = options.table_length

    def forward(self, num_queries: int, num_keys: int, offset: int, shared: List[Tensor],
                like: Tensor) -> List[Tensor]:
        """As in Positions; the table is (T, d)."""
        last = max(self.table_length, num_keys) - 1
        return [sinusoids(last - torch.arange(num_keys, dtype=torch.int64), self.model_dim, like)]


class LegacyRelPosAttention(SinusoidAttention):
    """Attention with the legacy shift."""

    def arrange(self, bd: Tensor, num_keys: int) -> Tensor:
        """As in SinusoidAttention."""
        return legacy_shift(bd)


SCHEME = Scheme(LegacyRelPosOptions, LegacyRelPosPositions, LegacyRelPosAttention,
                whole_utterance=True)
