"""The parts of a Conformer layer (Gulati et al. 2020, section 2), each with its streaming cache."""

import math
from typing import Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.reference.positions import rel_shift


class GlobalCmvn(nn.Module):
    """(x - mean) * istd per feature bin, both (input_dim), fixed before training."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(input_dim))
        self.register_buffer("istd", torch.ones(input_dim))

    def forward(self, features: Tensor) -> Tensor:
        """(B, T, input_dim) -> the same shape."""
        return (features - self.mean) * self.istd


class Conv2dSubsampling4(nn.Module):
    """Two 3x3 convolutions of stride 2 without padding: T frames become ((T-1)//2-1)//2.

    Encoder frame t reads feature frames 4t .. 4t+6 (right_context 6).
    """

    def __init__(self, input_dim: int, model_dim: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, model_dim, 3, 2), nn.ReLU(),
                                  nn.Conv2d(model_dim, model_dim, 3, 2), nn.ReLU())
        bins = ((input_dim - 1) // 2 - 1) // 2
        self.out = nn.Sequential(nn.Linear(model_dim * bins, model_dim))

    def forward(self, features: Tensor) -> Tensor:
        """(B, T, input_dim) with T >= 7 -> (B, T', model_dim)."""
        x = self.conv(features.unsqueeze(1))  # (B, d, T', bins)
        return self.out(x.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Linear, swish, linear."""

    def __init__(self, model_dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.w_1 = nn.Linear(model_dim, hidden_dim)
        self.w_2 = nn.Linear(hidden_dim, model_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, T, d)."""
        return self.w_2(self.dropout(F.silu(self.w_1(x))))


class RelativeAttention(nn.Module):
    """Multi-head attention with relative positions over cached and new keys.

    score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(distance(i, j))) / sqrt(d_k)
    (Dai et al. 2019, section 3.3).
    """

    def __init__(self, model_dim: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = model_dim // num_heads
        self.linear_q = nn.Linear(model_dim, model_dim)
        self.linear_k = nn.Linear(model_dim, model_dim)
        self.linear_v = nn.Linear(model_dim, model_dim)
        self.linear_out = nn.Linear(model_dim, model_dim)
        self.linear_pos = nn.Linear(model_dim, model_dim, bias=False)
        self.pos_bias_u = nn.Parameter(torch.empty(num_heads, self.head_dim))
        self.pos_bias_v = nn.Parameter(torch.empty(num_heads, self.head_dim))
        self.dropout = nn.Dropout(dropout)
        nn.init.xavier_uniform_(self.pos_bias_u)
        nn.init.xavier_uniform_(self.pos_bias_v)

    def _heads(self, x: Tensor) -> Tensor:
        """(B, T, d) -> (B, H, T, d_k)."""
        return x.reshape(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x: Tensor, sinusoids: Tensor, visible: Tensor,
                att_cache: Tensor) -> Tuple[Tensor, Tensor]:
        """Attends from C new frames to M' cached and C new ones, L = M' + C.

        Args:
            x: (B, C, d). sinusoids: (L + C - 1, d), distances L - 1 down to -(C - 1).
            visible: bool, broadcastable to (B, 1, C, L).
            att_cache: (B, H, M', 2 d_k), keys then values.

        Returns:
            (B, C, d), and keys and values (B, H, L, 2 d_k) of all frames seen here.
        """
        q = self._heads(self.linear_q(x))
        keys_values = torch.cat([self._heads(self.linear_k(x)), self._heads(self.linear_v(x))], 3)
        keys_values = torch.cat([att_cache, keys_values], 2)
        k, v = keys_values.split(self.head_dim, dim=3)
        p = self._heads(self.linear_pos(sinusoids.unsqueeze(0)))  # (1, H, L + C - 1, d_k)

        ac = torch.matmul(q + self.pos_bias_u.unsqueeze(1), k.transpose(2, 3))
        bd = torch.matmul(q + self.pos_bias_v.unsqueeze(1), p.transpose(2, 3))
        scores = (ac + rel_shift(bd, k.size(2))) / math.sqrt(self.head_dim)
        # Finite, so that a padded query that sees no frame at all gives no NaN.
        weights = torch.softmax(scores.masked_fill(torch.logical_not(visible), -1e30), dim=-1)
        context = torch.matmul(self.dropout(weights), v)  # (B, H, C, d_k)
        return self.linear_out(context.transpose(1, 2).flatten(2)), keys_values


class CausalConvolution(nn.Module):
    """Gated causal depthwise convolution: frame t reads frames t-K+1 .. t after the gate."""

    def __init__(self, model_dim: int, kernel_size: int, eps: float) -> None:
        super().__init__()
        self.pointwise_conv1 = nn.Conv1d(model_dim, 2 * model_dim, 1)
        self.depthwise_conv = nn.Conv1d(model_dim, model_dim, kernel_size, groups=model_dim)
        self.norm = nn.LayerNorm(model_dim, eps)
        self.pointwise_conv2 = nn.Conv1d(model_dim, model_dim, 1)

    def forward(self, x: Tensor, cnn_cache: Tensor) -> Tuple[Tensor, Tensor]:
        """Filters C new frames.

        Args:
            x: (B, C, d). cnn_cache: (B, d, K - 1), gated frames before x, zeros at the start.

        Returns:
            (B, C, d) and the next cnn_cache, same shape.
        """
        gated = F.glu(self.pointwise_conv1(x.transpose(1, 2)), dim=1)
        padded = torch.cat([cnn_cache, gated], 2)
        y = self.depthwise_conv(padded)
        y = F.silu(self.norm(y.transpose(1, 2))).transpose(1, 2)
        y = self.pointwise_conv2(y).transpose(1, 2)
        return y, padded[:, :, padded.size(2) - cnn_cache.size(2):]
